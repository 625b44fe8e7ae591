// test/lifecycle-features.yaml says which tests show what. Here it is held to the tests there are, and to those that run.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { apart, suites } from '../../support/suites.ts';
import { type TestTitle, titlesIn } from '../../support/test-titles.ts';

interface Feature {
  readonly id: string;
  readonly feature: string;
  readonly state: string;
  readonly by?: string;
  readonly run?: string;
  readonly reason?: string;
  readonly docs?: string;
  readonly tests?: Readonly<Record<string, readonly string[]>>;
}

const tests = join(import.meta.dirname, '../..');
const features = parse(readFileSync(join(tests, 'lifecycle-features.yaml'), 'utf8')) as readonly Feature[];
const files = new Set(globSync('**/*.test.ts', { cwd: tests }).map((file) => file.replace(/\.test\.ts$/, '')));
const known = new Map<string, readonly TestTitle[]>();

function titlesOf(file: string): readonly TestTitle[] {
  const titles = known.get(file) ?? titlesIn(readFileSync(join(tests, `${file}.test.ts`), 'utf8'));
  known.set(file, titles);
  return titles;
}

const folderOf = (file: string): string => file.split('/')[0] ?? '';
const withServers = suites.filter(({ servers }) => servers).flatMap(({ folders }) => folders);
const states = ['shown', 'partly', 'not', 'does not apply'];
const keys = ['id', 'feature', 'state', 'by', 'run', 'reason', 'docs', 'tests'];

/** What is wrong with a test that a feature names; undefined where nothing is. */
function problemOf(file: string, title: string): string | undefined {
  if (!files.has(file)) return `there is no file ${file}.test.ts`;
  if (!suites.some(({ folders }) => folders.includes(folderOf(file)))) return `no suite has ${file}`;
  const found = titlesOf(file).filter((each) => each.title === title);
  if (found.length !== 1) return `${file} has ${found.length} tests "${title}"`;
  return found[0]?.skipped === true ? `${file} skips "${title}"` : undefined;
}

function problemsOf({ tests: named = {} }: Feature): readonly string[] {
  return Object.entries(named).flatMap(([file, titles]) => titles.flatMap((title) => problemOf(file, title) ?? []));
}

function runsOf({ tests: named = {} }: Feature): readonly string[] {
  const folders = Object.keys(named).map(folderOf);
  return apart.filter((folder) => folders.includes(folder)).map((folder) => `npm run ${folder}`);
}

function byOf({ tests: named }: Feature): string | undefined {
  if (named === undefined) return undefined;
  return Object.keys(named).some((file) => withServers.includes(folderOf(file))) ? 'real' : 'pure';
}

describe('the features of the lifecycle', () => {
  it('names tests that exist and run', () => {
    const problems = features.flatMap((feature) => problemsOf(feature).map((text) => `${feature.id}: ${text}`));
    assert.deepEqual(problems, []);
  });

  it('says which features are shown on real parts only, and which tests "npm test" does not run', () => {
    for (const feature of features) {
      assert.equal(feature.by, byOf(feature), feature.id);
      assert.deepEqual(feature.run === undefined ? [] : [feature.run], runsOf(feature), feature.id);
    }
  });

  it('has every feature once, in order', () => {
    const counted = { L: 106, F: 62, M: 50 };
    const expected = Object.entries(counted).flatMap(([letter, count]) =>
      Array.from({ length: count }, (_, index) => `${letter}${index + 1}`),
    );
    assert.deepEqual(
      features.map(({ id }) => id),
      expected,
    );
    assert.equal(new Set(features.map(({ feature }) => feature)).size, expected.length);
  });

  it('has tests for what is shown, and a reason for what is not', (t) => {
    for (const feature of features) {
      const { id, state, reason, tests: named } = feature;
      assert.deepEqual(
        Object.keys(feature).filter((key) => !keys.includes(key)),
        [],
        id,
      );
      assert.ok(states.includes(state), `${id}: ${state}`);
      assert.match(feature.feature, /^[A-Z].*\.$/, id);
      if (state === 'shown') assert.ok(named !== undefined && reason === undefined, id);
      else assert.match(reason ?? '', /^.{10,}\.$/, id);
      if (state === 'partly') assert.ok(named !== undefined, id);
    }
    const count = (state: string, by?: string): number =>
      features.filter((each) => each.state === state && (by === undefined || each.by === by)).length;
    t.diagnostic(
      `shown on real parts ${count('shown', 'real')}, shown in memory ${count('shown', 'pure')}, partly ` +
        `${count('partly')}, not ${count('not')}, does not apply ${count('does not apply')}`,
    );
  });
});

describe('the titles in the text of a test', () => {
  const source = [
    "describe('a', () => {",
    "  it('runs', () => undefined);",
    "  it('is skipped', { skip: true }, () => undefined);",
    "  it('depends', { skip: onTheirs }, () => undefined);",
    "  it.skip('is skipped too', () => undefined);",
    '  it(',
    '    `is made for ${name}`,',
    '    { timeout: 5,',
    '      skip: true },',
    '    () => undefined,',
    '  );',
    '});',
    "describe.skip('b', () => {",
    "  it('is left out', () => undefined);",
    '});',
    "test.todo('is not written');",
    "describe('c', { skip: 'not now' }, () => {",
    '  for (const one of all) {',
    '    it("isn\'t run", () => undefined);',
    '  }',
    '});',
    "it('stands alone', () => undefined);",
  ].join('\n');

  it('are found, with those that are always skipped', () => {
    assert.deepEqual(
      titlesIn(source).map(({ title, skipped }) => `${title}${skipped ? ': skipped' : ''}`),
      [
        ...['runs', 'is skipped: skipped', 'depends', 'is skipped too: skipped', 'is made for ${name}: skipped'],
        ...['is left out: skipped', 'is not written: skipped', "isn't run: skipped", 'stands alone'],
      ],
    );
  });
});
