// Pictures of the page, compared with those that a maintainer has looked at: coarsely, so that the edge of a letter is no
// difference and a thing in another place or colour is one.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from '../browser.ts';

const folder = join(import.meta.dirname, '../../golden/pictures');
const madeWith = join(folder, 'made-with.txt');
const isUpdate = process.env['UPDATE_GOLDEN'] !== undefined;

/** A side of what is compared as one point, in pixels. */
const POINT = 8;
/** Of 255, in any of red, green and blue: a point beyond is another one. */
const TOLERANCE = 12;
/** Of all points. */
const MOST_OTHERS = 0.002;

/** What decides how a page is drawn: the major version of the browser, and how wide its fonts are. */
export async function drawnWith(browser: Browser): Promise<string> {
  const fonts = await browser.evaluate(`(() => {
    const context = new OffscreenCanvas(1, 1).getContext('2d');
    const families = ['15px system-ui, "DejaVu Sans", sans-serif', '13px ui-monospace, "DejaVu Sans Mono", monospace'];
    return families.map((font) => {
      context.font = font;
      return context.measureText('Objects that are stored: 0123456789').width.toFixed(2);
    }).join(' ');
  })()`);
  const [version = ''] = (await browser.product()).split('.');
  return JSON.stringify({ browser: version, fonts });
}

/** Why these pictures cannot be compared with those that are kept; undefined where they can. */
export function whyNotCompared(drawn: string): string | undefined {
  if (isUpdate) return undefined;
  const kept = existsSync(madeWith) ? readFileSync(madeWith, 'utf8').trim() : 'nothing';
  return kept === drawn ? undefined : `the pictures of test/golden/pictures were drawn with ${kept}, this is ${drawn}`;
}

/** Compares the picture with the one that is kept; where golden files are updated, keeps one that looks different. */
export async function compareWithKept(browser: Browser, name: string, png: Buffer, drawn: string): Promise<void> {
  const file = join(folder, `${name}.png`);
  const others = existsSync(file) ? await otherPoints(browser, readFileSync(file), png) : 1;
  if (isUpdate) {
    mkdirSync(folder, { recursive: true });
    if (others > MOST_OTHERS) writeFileSync(file, png);
    writeFileSync(madeWith, `${drawn}\n`);
    return;
  }
  const advice = `look at .local/screenshots/${name}.png; UPDATE_GOLDEN=1 keeps it`;
  assert.ok(others <= MOST_OTHERS, `${(others * 100).toFixed(2)} % of ${file} look different: ${advice}`);
}

/** The share of points that differ; 1 for pictures of different sizes. */
async function otherPoints(browser: Browser, before: Buffer, after: Buffer): Promise<number> {
  const share = await browser.evaluate(`(async () => {
    const pointsOf = async (base64) => {
      const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
      const picture = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
      const { width, height } = picture;
      const context = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
      context.drawImage(picture, 0, 0);
      const { data } = context.getImageData(0, 0, width, height);
      const [columns, rows] = [Math.floor(width / ${POINT}), Math.floor(height / ${POINT})];
      const sums = new Float64Array(columns * rows * 3);
      for (let y = 0; y < rows * ${POINT}; y += 1) {
        for (let x = 0; x < columns * ${POINT}; x += 1) {
          const point = (Math.floor(y / ${POINT}) * columns + Math.floor(x / ${POINT})) * 3;
          for (let colour = 0; colour < 3; colour += 1) sums[point + colour] += data[(y * width + x) * 4 + colour];
        }
      }
      return { size: width + ' ' + height, sums };
    };
    const [before, after] = [await pointsOf(${JSON.stringify(before.toString('base64'))}), await pointsOf(${JSON.stringify(after.toString('base64'))})];
    if (before.size !== after.size) return 1;
    let others = 0;
    for (let point = 0; point < before.sums.length; point += 3) {
      const far = [0, 1, 2].some((colour) => Math.abs(before.sums[point + colour] - after.sums[point + colour]) > ${TOLERANCE * POINT * POINT});
      if (far) others += 1;
    }
    return others / (before.sums.length / 3);
  })()`);
  return Number(share);
}
