const root = document.documentElement.dataset.root ?? '/'

/**
 * The address of a path of the service, which may be served below another path.
 *
 * @param {string} path
 */
export function to(path) {
  return root + path.slice(1)
}
