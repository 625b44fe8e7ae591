// The page in a browser, over a month of objects in memory: what it shows, that it is usable by keyboard and screen
// reader, and how large it is. Its way through a real API server is part of test/e2e/query.test.ts.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type Reaper, startReaper } from '../../hack/local/reaper.ts';
import { Browser, type View } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { MemoryStorage } from '../support/memory-storage.ts';
import { aModelRow } from '../support/objects.ts';
import { compareWithKept, drawnWith, whyNotCompared } from '../support/page/pictures.ts';
import { PageUser } from '../support/page/user.ts';
import { type PageWorld, startPageWorld } from '../support/page/world.ts';
import { savePicture } from '../support/query/page-suite.ts';

const axe = readFileSync(join(import.meta.dirname, '../../node_modules/axe-core/axe.min.js'), 'utf8');
const MAX_COMPRESSED_BYTES = 100_000;

const views: readonly (readonly [name: string, view: View])[] = [
  ['light', { scheme: 'light', width: 1280, height: 900 }],
  ['dark', { scheme: 'dark', width: 1280, height: 900 }],
  ['phone', { scheme: 'light', width: 390, height: 840 }],
];
const pages: readonly (readonly [name: string, hash: string, shows: RegExp])[] = [
  ['overview', '#/', /Stuck[\s\S]*ranker-v64[\s\S]*Created per day[\s\S]*Model\t/],
  ['list', '#/pipelineruns?fieldSelector=status.state%3DPIPELINE_RUN_STATE_FAILED', /\d+ found[\s\S]*Failed/],
  [
    'object',
    '#/pipelineruns/fraud/train-ranker-1197',
    /Steps[\s\S]*Relations[\s\S]*TerminatingBlocked[\s\S]*every run names[\s\S]*kw_args/,
  ],
];

describe('the page', () => {
  let world: PageWorld;
  let browser: Browser;
  let user: PageUser;
  /** With what, and what; by the name of the picture. */
  let drawn: string;
  const shots = new Map<string, Buffer>();
  let reaper: Reaper | undefined;
  const directory = mkdtempSync(join(tmpdir(), 'ingester-page-'));

  before(async () => {
    world = await startPageWorld();
    mkdirSync(join(directory, 'browser'));
    reaper = startReaper(directory);
    browser = await Browser.start(join(directory, 'browser'), reaper);
    user = new PageUser(browser);
    await browser.standAt(world.now);
    await browser.open(`${world.url}/ui/`);
    drawn = await drawnWith(browser);
  });
  after(async () => {
    await browser.stop();
    await reaper?.dismiss();
    world.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  for (const [view, size] of views) {
    for (const [page, hash, shows] of pages) {
      it(`has nothing that axe finds fault with: ${page}, ${view}`, async () => {
        await browser.emulate(size);
        await user.go(hash);
        await browser.sees(shows);
        await browser.evaluate('scrollTo(0, 0)');
        const shot = await browser.screenshot();
        savePicture(`page-${page}-${view}`, shot);
        shots.set(`page-${page}-${view}`, shot);
        const known = await browser.evaluate('typeof axe');
        if (known === 'undefined') await browser.evaluate(`${axe};undefined`);
        const found = await browser.evaluate(
          `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes.map(({ html }) => html).slice(0, 3)))`,
        );
        assert.deepEqual(found, []);
        const wide = await browser.evaluate('document.documentElement.scrollWidth > innerWidth');
        assert.equal(wide, false, 'nothing is wider than the window');
      });
    }
  }

  for (const name of views.flatMap(([view]) => pages.map(([page]) => `page-${page}-${view}`))) {
    it(`looks as it did: ${name}`, async (test) => {
      const reason = whyNotCompared(drawn);
      if (reason !== undefined) {
        test.skip(reason);
        return;
      }
      const shot = shots.get(name);
      assert.ok(shot !== undefined, 'there is a picture');
      await compareWithKept(browser, name, shot, drawn);
    });
  }

  it('leads from an object that is stuck to it', async () => {
    await user.go('#/');
    const text = await browser.sees(/denied the request: every model names its owner/);
    assert.match(
      text,
      /Deletions of PipelineRun in search are held[\s\S]*ads\/evaluate[\s\S]*5 attempts[\s\S]*out of range/,
    );
    await user.click('fraud/ranker-v64');
    await browser.sees(/Stuck \(50 min ago, 61 attempts\): admission[\s\S]*Timeline[\s\S]*algorithm: xgboost/);
    await user.go('#/models/fraud/ranker-v61');
    await browser.sees(/^(?![\s\S]*Stuck)[\s\S]*Timeline/);
    await user.go('#/');
    await browser.sees(/Created per day/);
    await user.click('ads/evaluate-13');
    await browser.sees(
      /Stuck \(2 min ago, one attempt\): MySQL refused the row: too long[\s\S]*"evaluate-13" not found/,
    );
  });

  it('searches as one types, and keeps the filters on the way back from an object', async () => {
    await user.go('#/models');
    await browser.sees(/64 found/);
    await user.type('[name=name]', 'ranker-v6');
    await browser.sees(/6 found[\s\S]*ranker-v64/);
    await user.click('ranker-v64');
    await browser.sees(/Timeline/);
    await eventually(async () =>
      assert.match(String(await browser.evaluate('document.title')), /^Model \S+\/ranker-v64 /),
    );
    await browser.evaluate('history.back()');
    await browser.sees(/6 found/);
    assert.equal(await browser.evaluate('document.querySelector("[name=name]").value'), 'ranker-v6');
  });

  it('searches by an annotation and by an owner in the fields that unfold', async () => {
    await user.go('#/models');
    await browser.sees(/64 found/);
    await user.type('[name=annotationSelector]', 'note="to be kept"');
    await browser.sees(/Nothing is stored that is asked for/);
    await user.type('[name=annotationSelector]', '!note');
    await browser.sees(/64 found/);
    await user.go('#/pipelineruns?source=all');
    await browser.sees(/150 found/);
    await user.type('[name=fieldSelector]', 'metadata.ownerReferences=Pipeline/none');
    await browser.sees(/Nothing is stored that is asked for/);
  });

  it('orders by a click on a head', async () => {
    await browser.emulate({ scheme: 'light', width: 1280, height: 900 });
    await user.go('#/models?name=ranker-v6&namespace=');
    await browser.sees(/6 found/);
    await user.click('Revision');
    await browser.sees(/ranker-v6\t[\s\S]*ranker-v64\t/);
    await user.click('Revision');
    await browser.sees(/ranker-v64\t[\s\S]*ranker-v6\t/);
    assert.match(String(await browser.evaluate('location.hash')), /orderBy=-spec.revisionId/);
  });

  it('shows a phone where an object is and how old, each beside the name of its column', async () => {
    await browser.emulate({ scheme: 'light', width: 390, height: 840 });
    await user.go('#/models?name=ranker-v64&namespace=');
    await browser.sees(/ranker-v64\n/);
    const shown = String(
      await browser.evaluate(
        `[...document.querySelectorAll('.cards tbody td')].map((cell) =>
          getComputedStyle(cell, '::before').content + cell.innerText + ' ' + (cell.getBoundingClientRect().right <= innerWidth)).join('\\n')`,
      ),
    );
    for (const column of ['Where', 'Age', 'Namespace']) assert.match(shown, new RegExp(`^"${column}".+ true$`, 'm'));
  });

  it('says that there are no events, and reads them anew for each incarnation', async () => {
    await user.go('#/models/fraud/ranker-v64');
    await browser.sees(/Events\s+None\. Kubernetes keeps an event for an hour/);
  });

  it('folds the YAML', async () => {
    await user.go('#/models/fraud/ranker-v64');
    await browser.sees(/algorithm: xgboost/);
    await browser.evaluate(`document.querySelector('[aria-label="Lines below spec:"]').click()`);
    await browser.sees(/^(?![\s\S]*algorithm: )[\s\S]*spec: …/);
  });

  it('shows what a restore would do before it is done', async () => {
    await user.go('#/models/search/ranker-v30');
    await browser.sees(/in MySQL only/);
    await user.click('Restore …');
    await browser.sees(/nothing has changed yet[\s\S]*would be restored/);
    assert.equal(world.client.calls.includes('create'), true, 'the API server was asked');
    await user.click('Close');
    await browser.sees(/^(?![\s\S]*nothing has changed yet)/);
    assert.deepEqual(browser.complaints, []);
  });

  it('shows the objects of the cluster that a user chooses, also on the way from object to object', async () => {
    const storage = new MemoryStorage();
    await storage.upsert(aModelRow({ uid: 'east', name: 'only-in-the-east', namespace: 'ml' }));
    const many = await startPageWorld({ 'eu-1': { storage } });
    try {
      await browser.emulate({ scheme: 'light', width: 1280, height: 900 });
      await browser.open(`${many.url}/ui/`);
      await browser.sees(/Cluster\s+in-cluster/);
      await browser.evaluate(`(() => {
        const choice = document.querySelector('label.cluster select');
        choice.value = 'eu-1';
        choice.dispatchEvent(new Event('change', { bubbles: true }));
      })()`);
      await eventually(async () => assert.equal(await browser.evaluate('location.search'), '?cluster=eu-1'));
      await browser.sees(/Model\s+1/);
      await user.go('#/models');
      await browser.sees(/only-in-the-east/);
      await user.click('only-in-the-east');
      await browser.sees(/cluster: eu-1/);
      assert.equal(await browser.evaluate("document.querySelector('label.cluster select').value"), 'eu-1');
      savePicture('page-cluster', await browser.screenshot());
      await browser.evaluate(`${axe};undefined`);
      const found = await browser.evaluate('axe.run().then(({ violations }) => violations.map(({ id }) => id))');
      assert.deepEqual(found, []);
    } finally {
      many.stop();
    }
  });

  it('is small', async () => {
    const files = ['', 'object.css', 'page.css', 'page.js'].map(async (name) => {
      const text = await (await fetch(`${world.url}/ui/${name}`)).text();
      return gzipSync(text).length;
    });
    const sizes = await Promise.all(files);
    const total = sizes.reduce((sum, size) => sum + size, 0);
    assert.ok(total < MAX_COMPRESSED_BYTES, `${total} bytes, compressed`);
  });
});
