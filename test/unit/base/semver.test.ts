import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compareVersions } from '../../../src/base/semver.ts';

const older = [
  ['4.1.0', '4.0.0'],
  ['v4.1.0', 'v4.0.0'],
  ['v4.1.0', '4.0.9'],
  ['1.10.0', '1.9.0'],
  ['1.0.0', '1.0.0-rc1'],
  ['1.0.0-rc10', '1.0.0-rc2'],
  ['1.0.0-rc.10', '1.0.0-rc.2'],
  ['1.0.0-rc1', '1.0.0-beta9'],
  ['1.0.0-beta', '1.0.0-alpha'],
  ['1.0.0-rc1.1', '1.0.0-rc1'],
  ['2.0.0-rc1', '1.9.9'],
  ['4.1.0-py310', '4.0.0'],
  ['90071992547409930.0.1', '90071992547409930.0.0'],
] as const;

const same = [
  ['1.2.3', '1.2.3'],
  ['v1.2.3', '1.2.3'],
  ['4.1.1', '4.1.1-py310'],
  ['4.1.1-py310', '4.1.1-py311'],
  ['4.1.1', '4.1.1-dev'],
  ['4.1.1-rc1-py310', '4.1.1-rc1'],
  ['1.2.3+build1', '1.2.3+build2'],
  ['1.2.3-RC1', '1.2.3-rc1'],
] as const;

const unordered = [
  'latest',
  'sha-abc',
  '4.1',
  '20240601',
  '2024.06.01',
  '01.2.3',
  '1.2.3.4',
  '',
  ' 1.2.3',
  '1.2.3\n',
  '1.2.3@sha256:abc',
  `1.2.${'3'.repeat(300)}`,
];

describe('the order of versions', () => {
  for (const [from, to] of older) {
    it(`${from} -> ${to} goes back, and the other way goes forward`, () => {
      assert.equal(compareVersions(from, to), 'older');
      assert.equal(compareVersions(to, from), 'newer');
    });
  }

  for (const [from, to] of same) {
    it(`${from} and ${to} are the same release`, () => {
      assert.equal(compareVersions(from, to), 'same');
      assert.equal(compareVersions(to, from), 'same');
    });
  }

  for (const text of unordered) {
    it(`${JSON.stringify(text.slice(0, 20))} has no order`, () => {
      assert.equal(compareVersions(text, '1.0.0'), undefined);
      assert.equal(compareVersions('1.0.0', text), undefined);
    });
  }
});
