/** Runs before the first paint: styles need to know that scripts run. */
document.documentElement.classList.add('script')
