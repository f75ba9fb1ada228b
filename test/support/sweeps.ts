/** The size of a sweep: a sample in the slow tests, all of it in `npm run test:exhaustive`. */
export function sweep(sample: number, all: number): number {
  return process.env['TEST_EXHAUSTIVE'] === 'on' ? all : sample
}
