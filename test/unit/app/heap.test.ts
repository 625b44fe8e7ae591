import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { growthPercent } from '../../../src/app/reconciler/memory.ts';

/** How often V8 collects the whole heap while objects live long enough to leave the young generation. */
async function majorCollections(prepare: string): Promise<number> {
  const script = `
    import { PerformanceObserver, constants } from 'node:perf_hooks';
    ${prepare}
    let major = 0;
    const count = (list) => {
      for (const { detail } of list.getEntries()) if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) major += 1;
    };
    const observer = new PerformanceObserver(count);
    observer.observe({ entryTypes: ['gc'] });
    const kept = [];
    for (let index = 0; index < 400_000; index += 1) kept[index % 60_000] = { index, text: \`object \${index}\`.repeat(20) };
    for (let index = 0; index < 60_000; index += 1) kept[index].text.charCodeAt(0);
    setTimeout(() => console.log(major), 50);
  `;
  const args = ['--max-semi-space-size=1', '--max-old-space-size=256', '--input-type=module', '--eval', script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname });
  return Number(stdout);
}

describe('the heap of the reconciler', () => {
  it('is collected as a whole less often than V8 would for one of this size', async () => {
    const url = new URL('../../../src/app/reconciler/memory.ts', import.meta.url).href;
    const before = await majorCollections('');
    const after = await majorCollections(`import { letHeapGrow } from '${url}'; letHeapGrow();`);
    assert.ok(before > 2 && after > 0 && after < before, `${before} collections without, ${after} with`);
  });

  it('is collected more often where it is large, as it may not double then', async () => {
    const url = (path: string) => JSON.stringify(new URL(`../../../src/${path}`, import.meta.url).href);
    const collections = async (prepare: string): Promise<number> => {
      const script = `
        import { PerformanceObserver, constants } from 'node:perf_hooks';
        import { setTimeout as delay } from 'node:timers/promises';
        import { boundHeapGrowth, letHeapGrow } from ${url('app/reconciler/memory.ts')};
        import { systemClock } from ${url('base/clock.ts')};
        letHeapGrow();
        ${prepare}
        globalThis.kept = Array.from({ length: 1_500_000 }, (_, index) => ({ index, text: 'object ' + index }));
        await delay(600);
        let major = 0;
        const observer = new PerformanceObserver((list) => {
          for (const { detail } of list.getEntries()) if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) major += 1;
        });
        observer.observe({ entryTypes: ['gc'] });
        const passing = [];
        for (let index = 0; index < 6_000_000; index += 1) {
          passing[index % 100_000] = { index, text: 'passing ' + index };
          if (index % 20_000 === 0) await delay(0);
        }
        console.log(major);
        process.exit(0);
      `;
      const args = ['--max-semi-space-size=1', '--max-old-space-size=1024', '--input-type=module', '--eval', script];
      const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname });
      return Number(stdout);
    };
    const free = await collections('');
    const bound = await collections('void boundHeapGrowth(systemClock, new AbortController().signal);');
    assert.ok(bound > free, `${bound} collections, ${free} without`);
  });

  it('may double while it is small, and grows by a fifth at least', () => {
    const mib = 1024 * 1024;
    assert.deepEqual(
      [1, 48, 96, 1000].map((heap) => growthPercent(heap * mib)),
      [100, 100, 50, 20],
    );
  });

  for (const { does, work, becomes } of [
    { does: 'is collected as a whole when the process rests after work', work: '', becomes: 'collected' },
    {
      does: 'is left to V8 while there is work',
      work: 'setInterval(() => { const end = Date.now() + 60; while (Date.now() < end); }, 100);',
      becomes: 'left',
    },
  ])
    it(does, async () => {
      const url = (path: string) => JSON.stringify(new URL(`../../../src/${path}`, import.meta.url).href);
      const script = `
        import { PerformanceObserver, constants } from 'node:perf_hooks';
        import { collectAtRest } from ${url('app/reconciler/memory.ts')};
        import { systemClock } from ${url('base/clock.ts')};
        let asked = 0;
        const observer = new PerformanceObserver((list) => {
          for (const { detail } of list.getEntries())
            if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR && detail.flags === 0) asked += 1;
        });
        observer.observe({ entryTypes: ['gc'] });
        void collectAtRest(systemClock, new AbortController().signal, 250);
        setTimeout(() => { globalThis.kept = Array.from({ length: 400_000 }, (_, index) => ({ index, text: 'object ' + index })); }, 50);
        setTimeout(() => { globalThis.kept = undefined; }, 150);
        ${work}
        setTimeout(() => { console.log(asked > 0 ? 'collected' : 'left'); process.exit(0); }, 2500);
      `;
      const args = ['--input-type=module', '--eval', script];
      const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname });
      assert.equal(stdout.trim(), becomes);
    });

  it('is configured when the role starts', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'heap-'));
    const [watching, configuration] = [join(folder, 'watching.mjs'), join(folder, 'config.yaml')];
    writeFileSync(
      watching,
      `import v8 from 'node:v8';
       import { syncBuiltinESMExports } from 'node:module';
       v8.setFlagsFromString = (flag) => console.log(flag);
       syncBuiltinESMExports();`,
    );
    // Nothing to connect to: it ends at once, with an error.
    writeFileSync(
      configuration,
      `metadataStorage: { enableMetadataStorage: true }
mysql: { host: nowhere.invalid, user: none, database: none }
kubernetes: { kubeconfig: ${join(folder, 'missing')} }`,
    );
    const main = join(import.meta.dirname, '../../../src/main.ts');
    const args = ['--import', watching, main, '--config', configuration, 'reconciler'];
    await assert.rejects(promisify(execFile)(process.execPath, args), ({ stdout }: { readonly stdout: string }) => {
      assert.match(stdout, /^--heap-growing-percent=100$/m);
      return true;
    });
    rmSync(folder, { recursive: true });
  });
});
