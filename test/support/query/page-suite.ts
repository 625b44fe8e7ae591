// The page as a user sees it in a browser.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Reaper, startReaper } from '../../../hack/local/reaper.ts';
import { Browser } from '../browser.ts';
import type { QueryServer } from '../query-server.ts';

/** Pictures of the page, for the developer to look at. */
const pictures = join(import.meta.dirname, '../../../.local/screenshots');

export function savePicture(name: string, png: Buffer): void {
  mkdirSync(pictures, { recursive: true });
  writeFileSync(join(pictures, `${name}.png`), png);
  assert.equal(png.subarray(1, 4).toString(), 'PNG');
  assert.ok(png.length > 10_000, 'there is something in the picture');
}

export interface PageSuite {
  readonly directory: () => string;
  readonly server: () => QueryServer;
  /** Of a user who may read models in ml, where `evicted` is, and nothing else. */
  readonly token: () => Promise<string>;
  readonly kubectl: (...args: readonly string[]) => Promise<string>;
}

export function pageSuite({ directory, server, token, kubectl }: PageSuite): void {
  describe('the web page', () => {
    let browser: Browser | undefined;
    let reaper: Reaper | undefined;
    const page = (): Browser => {
      assert.ok(browser !== undefined);
      return browser;
    };
    const picture = async (name: string): Promise<void> => savePicture(name, await page().screenshot());
    const click = (selector: string) => page().evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`);
    const type = (selector: string, text: string) =>
      page().evaluate(
        `(() => {
          const field = document.querySelector(${JSON.stringify(selector)});
          field.value = ${JSON.stringify(text)};
          field.dispatchEvent(new Event('input', { bubbles: true }));
        })()`,
      );

    before(async () => {
      const folder = join(directory(), 'browser');
      mkdirSync(folder);
      reaper = startReaper(folder);
      browser = await Browser.start(folder, reaper);
    });
    after(async () => {
      await browser?.stop();
      await reaper?.dismiss();
    });

    it('shows nothing to a user without a token, and says what to do', async () => {
      await page().open(`${server().url}/ui/`);
      await page().sees(/Bearer token of the cluster/);
      await picture('login');
      await type('#token', 'forged');
      await click('#login button');
      await page().sees(/no valid credentials/);
    });

    it('shows the kinds that a user may read, with counts and lag', async () => {
      await type('#token', await token());
      await click('#login button');
      const text = await page().sees(/Model\t\d+\t1\t\d+\t\d+ s ago/);
      assert.ok(!text.includes('PipelineRun'), 'a kind that the user may not list is not there');
    });

    it('lists and searches with the selectors of kubectl', async () => {
      await page().evaluate(`location.hash = '#/models'`);
      await page().sees(/kept\s+xgboost/);
      await type('[name=labelSelector]', 'team=b');
      await page().sees(/^(?![\s\S]*xgboost)[\s\S]*evicted-algorithm/);
      await picture('search');
      await type('[name=labelSelector]', 'team in');
      await page().sees(/selector is not valid/);
      await type('[name=labelSelector]', '');
      await page().sees(/kept\s+xgboost/);
    });

    it('shows an object: where it lives, its YAML and its history', async () => {
      await page().evaluate(`[...document.querySelectorAll('a')].find((a) => a.textContent === 'evicted').click()`);
      const text = await page().sees(/in MySQL only[\s\S]*History[\s\S]*algorithm: evicted-algorithm/);
      assert.match(text, /apiVersion: stored\.michelangelo\.api\/v2/);
      await picture('object');
    });

    it('loads nothing from elsewhere, and breaks none of its own rules', async () => {
      const names = await page().evaluate(`performance.getEntriesByType('resource').map(({ name }) => name)`);
      for (const name of names as readonly string[]) assert.ok(name.startsWith(server().url), name);
      const policy = await page().evaluate(`fetch('/ui/').then((a) => a.headers.get('content-security-policy'))`);
      assert.match(String(policy), /^default-src 'none'; script-src 'self';/);
      assert.deepEqual(page().complaints, []);
    });

    it('stands below the path of the API too, for kubectl proxy', async () => {
      const text = await kubectl('get', '--raw', '/apis/stored.michelangelo.api/v2/ui/');
      assert.match(text, /<title>Stored objects<\/title>/);
    });
  });
}
