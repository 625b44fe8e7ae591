// `ingester status` while parts die: it knows each within fifteen seconds, and its exit code says so.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { kubeconfigText } from '../../hack/local/kubeconfig.ts';
import { programFile } from '../../hack/local/program.ts';
import { probe } from '../../hack/local/role-process.ts';
import { runCommand } from '../../hack/local/run-command.ts';
import { startTcpProxy } from '../../hack/local/tcp-proxy.ts';
import { aManifest, Cluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { type Ran, runIngester } from '../support/ingester.ts';
import { type QueryServer, startQueryServer } from '../support/query-server.ts';
import { useBundle } from '../support/use-bundle.ts';

const KNOWN_MS = 15_000;
const works = (part: string): RegExp => new RegExp(`^${part} +works `, 'm');
const fails = (part: string): RegExp => new RegExp(`^${part} +FAILS `, 'm');

describe('ingester status', () => {
  const bundle = useBundle();
  const status = (env = {}): Promise<Ran> => runIngester(bundle(), ['status'], { env });
  const plugin = (...args: readonly string[]) =>
    runCommand(
      process.execPath,
      [programFile('kubectl-ingester'), ...args, '--kubeconfig', bundle().controlPlane.kubeconfig],
      {
        env: process.env,
      },
    );
  let query: QueryServer | undefined;
  before(async () => {
    await eventually(async () => {
      const { code: exitCode, stdout } = await status();
      assert.match(stdout, /^query API +absent /m);
      assert.equal(exitCode, 0, `a part that is not installed is no failure:\n${stdout}`);
    });
    const { code, stderr } = await plugin('get', 'model', 'none');
    assert.deepEqual([code, stderr.includes('This cluster has no query API')], [6, true], stderr);
    query = await startQueryServer(bundle());
  });
  after(() => query?.stop());

  async function toldOf(how: RegExp, killed: number): Promise<Ran> {
    const { asked, ran } = await eventually(async () => {
      const begun = performance.now();
      const answer = await status();
      assert.match(answer.stdout, how);
      return { asked: begun, ran: answer };
    });
    assert.ok(asked - killed < KNOWN_MS, `known ${Math.round(asked - killed)} ms after the death`);
    return ran;
  }

  /** Everything works before and after; within the time that users are promised the part is known to fail. */
  async function knows(
    part: string,
    { kill, heal }: Record<'kill' | 'heal', () => Promise<unknown>>,
    how = fails(part),
  ): Promise<string> {
    const well = async (): Promise<void> => {
      const { code, stdout, stderr } = await status();
      for (const each of ['reconciler', 'MySQL', 'admission', 'query API']) assert.match(stdout, works(each));
      assert.equal(code, 0, stderr);
    };
    await eventually(well);
    await kill();
    const killed = performance.now();
    try {
      const { code, stdout, stderr } = await toldOf(how, killed);
      assert.equal(code, 1);
      assert.match(stderr, new RegExp(`${part}: .*\\[PART_FAILS\\]`));
      return stdout;
    } finally {
      // The next part is asked for too, whatever was told of this one.
      await heal();
      await eventually(well);
    }
  }

  it('knows a dead MySQL, and where it should be', async () => {
    const { databaseLink } = bundle();
    const reason = /^MySQL +FAILS .*ECONNREFUSED from 127\.0\.0\.1, port \d+ \(mysql\.host and mysql\.port\)/m;
    await knows('MySQL', { kill: () => databaseLink.cut(), heal: () => databaseLink.heal() }, reason);
  });

  it('knows a MySQL that is silent, and that the query API cannot read it', async () => {
    const { databaseLink } = bundle();
    const kill = (): Promise<void> => {
      databaseLink.freeze();
      return Promise.resolve();
    };
    const text = await knows('MySQL', { kill, heal: () => databaseLink.heal() });
    assert.match(text, /^query API +FAILS .*answers, and cannot read MySQL: /m);
  });

  it('knows a dead reconciler, and does not say what only the reconciler knows', async () => {
    const { reconciler } = bundle();
    const text = await knows('reconciler', { kill: () => reconciler.crash(), heal: () => reconciler.start() });
    assert.match(text, /^MySQL +unknown /m);
    assert.match(text, /^Which objects are stored is not known: the reconciler has told nothing since /m);
    assert.doesNotMatch(text, /Every object is stored/);
  });

  it('knows a dead webhook', async () => {
    const { webhook } = bundle();
    const text = await knows('admission', { kill: () => webhook.crash(), heal: () => webhook.start() });
    assert.match(text, /^reconciler +works /m);
  });

  it('knows a dead query API', async () => {
    await knows('query API', {
      kill: async () => {
        await query?.process.crash();
        await eventually(async () => {
          const { code, stderr } = await plugin('get', 'models', '-A');
          assert.deepEqual([code, stderr.includes('is registered and does not answer')], [6, true], stderr);
        });
      },
      heal: () => query?.process.start() ?? Promise.resolve(),
    });
  });

  it('lists objects whose protobuf form lacks a field, which a metric counts', async () => {
    const cluster = new Cluster(bundle());
    await cluster.namespace('half');
    const spec = { trigger: { intervalSchedule: { interval: '5 minutes' } } };
    await cluster.apply(aManifest('TriggerRun', 'half', 'loose', { spec }));
    await eventually(async () => {
      const { stdout } = await status();
      assert.match(stdout, /^1 objects written since .* lack fields in the column proto:$/m);
      assert.match(stdout, /^ {2}TriggerRun half\/loose: spec\.trigger\.intervalSchedule\.interval.*duration/m);
    }, 60_000);
    const { body } = await probe(bundle().reconcilerHealthPort, '/metrics');
    assert.match(body, /^ingester_column_values_unfit_total\{kind="TriggerRun",column="proto"\} 1$/m);
  });

  it('names the address of an API server that does not answer, and the setting', async () => {
    const proxy = await startTcpProxy({ host: '127.0.0.1', port: 1 });
    const url = `https://127.0.0.1:${proxy.port}`;
    await proxy.close();
    const file = join(bundle().directory, 'silent.kubeconfig');
    writeFileSync(file, kubeconfigText({ url, caPem: '', user: { name: 'none', token: 'none' } }));
    const { code, stderr } = await status({ INGESTER_KUBERNETES_KUBECONFIG: file });
    assert.equal(code, 1);
    assert.ok(stderr.includes(`${url}, from kubernetes.kubeconfig ${file}`), stderr);
  });
});
