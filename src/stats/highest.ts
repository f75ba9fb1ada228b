/** The highest value, the latest of equal ones, and the one that was the highest before it. */
export interface Best<Item> {
  readonly best: Item
  readonly before: Item | undefined
}

/** The highest of items in the order of time; undefined without any. */
export function highest<Item>(items: readonly Item[], valueOf: (item: Item) => number): Best<Item> | undefined {
  let found: Best<Item> | undefined
  for (const item of items) found = higher(found, item, valueOf)
  return found
}

/** The highest so far and a later item. */
export function higher<Item>(found: Best<Item> | undefined, item: Item, valueOf: (item: Item) => number): Best<Item> {
  if (found === undefined) return { best: item, before: undefined }
  return valueOf(item) < valueOf(found.best) ? found : { best: item, before: found.best }
}
