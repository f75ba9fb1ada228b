import type { Page } from 'playwright-core'

/** What is seen of a mark, whatever it is drawn with. */

export interface Area {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/**
 * How much an area of a page differs from a colour: the mean distance of its pixels, from 0 to 441. Colours are as computed
 * styles have them.
 */
export async function distanceFrom(page: Page, area: Area, colour: string): Promise<number> {
  const image = (await page.screenshot({ clip: area, animations: 'disabled' })).toString('base64')
  // On a page of its own, as the policy of the service forbids images.
  const blank = await page.context().newPage()
  try {
    return await blank.evaluate(meanDistance, { image, colour })
  } finally {
    await blank.close()
  }
}

/** Runs in a browser. */
async function meanDistance({ image, colour }: { image: string; colour: string }): Promise<number> {
  const picture = new Image()
  picture.src = `data:image/png;base64,${image}`
  await picture.decode()
  const canvas = new OffscreenCanvas(picture.width, picture.height)
  const context = canvas.getContext('2d')
  if (context === null) throw new Error('there is no canvas')
  context.fillStyle = colour
  context.fillRect(0, 0, 1, 1)
  const [red = 0, green = 0, blue = 0] = context.getImageData(0, 0, 1, 1).data
  context.drawImage(picture, 0, 0)
  const { data } = context.getImageData(0, 0, picture.width, picture.height)
  let sum = 0
  for (let index = 0; index < data.length; index += 4) {
    sum += Math.hypot((data[index] ?? 0) - red, (data[index + 1] ?? 0) - green, (data[index + 2] ?? 0) - blue)
  }
  return (sum / data.length) * 4
}
