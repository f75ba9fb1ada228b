/**
 * Rows in parts, so that few are held in memory: `read` returns the next rows after a position, of which there are fewer than `size` at the
 * end. `positionOf` tells the position of the last row of a part.
 */
export async function* inParts<Row, Position>(
  size: number,
  start: Position,
  read: (after: Position) => Promise<readonly Row[]>,
  positionOf: (row: Row) => Position,
): AsyncGenerator<readonly Row[]> {
  for (let after = start; ;) {
    const rows = await read(after)
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    if (rows.length < size) return
    after = positionOf(last)
  }
}
