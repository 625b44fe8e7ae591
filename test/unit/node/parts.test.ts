import assert from 'node:assert/strict';
import { lstatSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { AddressPool } from '../../../hack/local/node/address-pool.ts';
import { writeAtomically } from '../../../hack/local/node/atomic-writer.ts';
import { commandLine, findImage } from '../../../hack/local/node/image-table.ts';
import { ingesterImage, mysqlClientImage } from '../../../hack/local/node/images.ts';
import { RestartBackoff } from '../../../hack/local/node/restart-backoff.ts';
import { temporaryFolder } from '../../support/processes.ts';

describe('the wait before a restart', () => {
  it('is nothing, then the base, doubled up to the longest', () => {
    const backoff = new RestartBackoff(10, 40);
    const waits: number[] = [];
    for (let now = 0, restart = 0; restart < 5; restart += 1) {
      const wait = backoff.remainingMs(now, now);
      waits.push(wait);
      now += wait;
      backoff.restarted(now);
    }
    assert.deepEqual(waits, [0, 10, 20, 40, 40]);
  });

  it('counts from the end of the run', () => {
    const backoff = new RestartBackoff(10, 400);
    backoff.restarted(0);
    assert.equal(backoff.remainingMs(100, 104), 6);
    assert.equal(backoff.remainingMs(70, 81), 0);
  });

  it('begins anew after a long quiet time', () => {
    const backoff = new RestartBackoff(10, 40);
    backoff.restarted(0);
    backoff.restarted(10);
    assert.equal(backoff.remainingMs(91, 91), 0);
    backoff.restarted(91);
    assert.equal(backoff.delayMs, 10);
  });
});

describe('the files of a volume', () => {
  const files = (entries: Readonly<Record<string, string>>) =>
    new Map(Object.entries(entries).map(([path, text]) => [path, { data: Buffer.from(text), mode: 0o640 }]));

  it('change all at once behind one link, and only when they differ', () => {
    const folder = temporaryFolder();
    assert.equal(writeAtomically(folder, files({ a: '1', 'deep/b': '2' })), true);
    assert.equal(writeAtomically(folder, files({ a: '1', 'deep/b': '2' })), false);
    assert.ok(lstatSync(join(folder, '..data')).isSymbolicLink());
    assert.equal(readFileSync(join(folder, 'deep/b'), 'utf8'), '2');
    assert.equal(statSync(join(folder, 'a')).mode & 0o777, 0o640);
    assert.equal(writeAtomically(folder, files({ a: '3', c: '4' })), true);
    assert.equal(readFileSync(join(folder, 'a'), 'utf8'), '3');
    assert.deepEqual(
      readdirSync(folder).filter((name) => !name.startsWith('..')),
      ['a', 'c'],
    );
    assert.equal(readdirSync(folder).filter((name) => name.startsWith('..')).length, 2);
  });

  it('can go back to earlier content', () => {
    const folder = temporaryFolder();
    for (const text of ['1', '2', '1']) writeAtomically(folder, files({ a: text }));
    assert.equal(readFileSync(join(folder, 'a'), 'utf8'), '1');
  });
});

describe('the image table', () => {
  it('finds this program and the MySQL client by their names, whatever registry and tag', () => {
    const folder = temporaryFolder();
    const table = [ingesterImage(join(folder, 'ingester')), mysqlClientImage(join(folder, 'mysql'), ['true'])];
    const entrypointOf = (reference: string) => findImage(table, reference)?.entrypoint[0];
    assert.equal(entrypointOf('michelangelo-ingester'), 'ingester');
    assert.equal(entrypointOf('registry.example.com:5000/team/michelangelo-ingester:1.2'), 'ingester');
    assert.equal(entrypointOf('michelangelo-ingester@sha256:0123'), 'ingester');
    assert.equal(entrypointOf('mysql:9'), 'mysql');
    assert.equal(entrypointOf('not-mysql:9'), undefined);
    assert.equal(entrypointOf('michelangelo-ingester-fork'), undefined);
  });

  it('lets the command replace the entrypoint and the args follow either', () => {
    const image = { match: '', entrypoint: ['ingester'], path: [], env: {} };
    assert.deepEqual(commandLine(image, { args: ['webhook'] }), ['ingester', 'webhook']);
    assert.deepEqual(commandLine(image, { command: ['sh'], args: ['-c'] }), ['sh', '-c']);
  });
});

describe('the addresses of a node', () => {
  it('go to one pod at a time, those given back last', () => {
    const pool = new AddressPool('192.0.2', '127.9.8');
    const [first, second] = [pool.next('a'), pool.next('b')];
    assert.notEqual(first, second);
    pool.release(first, 'a');
    assert.ok(![first, second].includes(pool.next('c')));
    assert.deepEqual([pool.addressOf(7), pool.loopbackOf(7)], ['192.0.2.7', '127.9.8.7']);
  });

  it('run out, and are not given back by another pod', () => {
    const pool = new AddressPool('192.0.2', '127.9.8');
    const taken = Array.from({ length: 253 }, (_, index) => pool.next(String(index)));
    assert.equal(new Set(taken).size, 253);
    pool.release(taken[0] ?? 0, 'another-pod');
    assert.throws(() => pool.next('late'), { code: 'LOCAL_NODE_FULL' });
  });
});
