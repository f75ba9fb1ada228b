/** What must be known before the first paint: that there are scripts. */
document.documentElement.classList.add('script')
