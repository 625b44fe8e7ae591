// The tab in Argo CD, as a user sees it in a browser.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Reaper, startReaper } from '../../../hack/local/reaper.ts';
import { allKinds } from '../../../src/kinds/kinds.ts';
import { Browser } from '../browser.ts';
import { type ArgoCd, startArgoCd } from './argo-cd.ts';
import { type PageSuite, savePicture } from './page-suite.ts';

export function argoCdSuite({ directory, server, token }: PageSuite): void {
  describe('the tab in Argo CD', () => {
    let argoCd: ArgoCd | undefined;
    let browser: Browser | undefined;
    let reaper: Reaper | undefined;
    const page = (): Browser => {
      assert.ok(browser !== undefined);
      return browser;
    };

    before(async () => {
      const folder = join(directory(), 'argo-cd');
      mkdirSync(folder);
      reaper = startReaper(folder);
      argoCd = await startArgoCd(server, token);
      browser = await Browser.start(folder, reaper);
      await page().open(argoCd.url);
    });
    after(async () => {
      argoCd?.stop();
      await browser?.stop();
      await reaper?.dismiss();
    });

    it('is offered on every kind', async () => {
      const wanted = allKinds.map(({ kind }) => `michelangelo.api ${kind} Stored`);
      assert.deepEqual(await page().evaluate('window.tabs()'), wanted);
    });

    it('shows an object that is not in etcd any more, as the Application that has it', async () => {
      await page().evaluate(`window.show('Model', 'ml', 'evicted')`);
      await page().sees(/in MySQL only[\s\S]*History[\s\S]*algorithm: evicted-algorithm/);
      savePicture('argo-cd', await page().screenshot());
      assert.deepEqual([...new Set(argoCd?.asked)], ['argocd:models ml']);
    });

    it('shows another object when another one is chosen', async () => {
      await page().evaluate(`window.show('Model', 'ml', 'kept')`);
      await page().sees(/^(?![\s\S]*evicted-algorithm)[\s\S]*in etcd and MySQL[\s\S]*algorithm: xgboost/);
    });

    it('says why it shows nothing', async () => {
      await page().evaluate(`window.show('Model', 'ml', 'unknown')`);
      await page().sees(/unknown[\s\S]*The Ingester has not stored this object/);
      await page().evaluate(`window.show('PipelineRun', 'ml', 'foreign')`);
      await page().sees(/Neither Argo CD nor the account of its token lets you see this/);
      assert.deepEqual(page().complaints, []);
    });
  });
}
