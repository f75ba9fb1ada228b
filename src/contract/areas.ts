export const areas = ['lkbx', 'dtt'] as const
export type Area = (typeof areas)[number]

export function isArea(text: string): text is Area {
  return (areas as readonly string[]).includes(text)
}
