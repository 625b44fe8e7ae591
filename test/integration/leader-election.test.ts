// Leader election between processes, on the real API server. Each candidate is this file, run again.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { type ControlPlane, startControlPlane } from '../../hack/local/control-plane.ts';
import { systemClock } from '../../src/base/clock.ts';
import { HttpKubeClient } from '../../src/kube/http/http-client.ts';
import { PooledTransport } from '../../src/kube/http/transport.ts';
import { leases } from '../../src/kube/resources.ts';
import { LeaderElector } from '../../src/runtime/leader-elector.ts';
import { type LeaseRecord, leaseRecord } from '../../src/runtime/lease.ts';
import { eventually } from '../support/eventually.ts';
import { RecordingLogger } from '../support/recording-logger.ts';

const NAMESPACE = 'default';
/** Short, so that a test need not wait long; in the same proportions as in production. */
const TIMES = { leaseDurationMs: 4000, renewDeadlineMs: 3000, retryPeriodMs: 500 };
const WORK_EVERY_MS = 20;

function clientOf(kubeconfig: string): HttpKubeClient {
  return new HttpKubeClient(new PooledTransport({ kubeconfig, context: '', clock: systemClock }));
}

/** Competes, and says `leads`, then `works` for each piece of work that only a leader may do, then `lost` or `stopped`. */
async function compete(kubeconfig: string, name: string, identity: string): Promise<void> {
  const say = (word: string): unknown => process.stdout.write(`${word}\n`);
  const client = clientOf(kubeconfig);
  const stop = new AbortController();
  process.on('SIGTERM', () => stop.abort());
  const elector = new LeaderElector({
    client,
    lease: { namespace: NAMESPACE, name },
    identity,
    clock: systemClock,
    logger: new RecordingLogger(),
    times: TIMES,
  });
  const working = setInterval(() => {
    if (elector.leads()) say('works');
  }, WORK_EVERY_MS);
  const outcome = await elector.run(stop.signal, () => say('leads'));
  clearInterval(working);
  say(outcome);
  await client.close();
}

class Candidate {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  #text = '';

  constructor(kubeconfig: string, name: string, identity: string) {
    const args = [import.meta.filename, 'compete', kubeconfig, name, identity];
    this.#child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#exited = once(this.#child, 'exit');
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.#text += text));
  }

  /** What it said, without repetitions. */
  get said(): readonly string[] {
    const words = this.#text.split('\n').filter((word) => word !== '');
    return words.filter((word, index) => word !== words[index - 1]);
  }

  get length(): number {
    return this.#text.length;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill(signal);
    await this.#exited;
  }
}

function suite(): void {
  let controlPlane: ControlPlane;
  let client: HttpKubeClient;
  const candidates: Candidate[] = [];
  before(async () => {
    controlPlane = await startControlPlane({ progress: () => undefined, minimal: true });
    client = clientOf(controlPlane.kubeconfig);
  });
  after(async () => {
    for (const candidate of candidates) await candidate.end('SIGKILL');
    await client.close();
    await controlPlane.stop();
  });

  const start = (name: string, identity: string): Candidate => {
    const candidate = new Candidate(controlPlane.kubeconfig, name, identity);
    candidates.push(candidate);
    return candidate;
  };
  const lease = async (name: string): Promise<LeaseRecord> =>
    leaseRecord(await client.get({ resource: leases, namespace: NAMESPACE, name }));
  const works = (candidate: Candidate) => eventually(() => assert.ok(candidate.said.includes('works')));
  /** A leader, and another candidate that has seen the lease. */
  const two = async (name: string): Promise<readonly [Candidate, Candidate]> => {
    const first = start(name, 'first');
    await works(first);
    const second = start(name, 'second');
    const { renewTime } = await lease(name);
    await eventually(async () => assert.notEqual((await lease(name)).renewTime, renewTime));
    assert.deepEqual(second.said, []);
    return [first, second];
  };

  it('lets one of two lead, and the other take over when it is killed', async () => {
    const [first, second] = await two('killed');
    assert.equal((await lease('killed')).holderIdentity, 'first');
    const killed = performance.now();
    await first.end('SIGKILL');
    await works(second);
    const seconds = (performance.now() - killed) / 1000;
    assert.ok(seconds > 2.5, `took over after ${seconds} s, before the lease can have expired`);
    const record = await lease('killed');
    assert.equal(record.holderIdentity, 'second');
    assert.equal(record.leaseTransitions, 1);
    await second.end('SIGTERM');
  });

  it('hands over at once when the leader stops', async () => {
    const [first, second] = await two('released');
    const stopped = performance.now();
    await first.end('SIGTERM');
    assert.deepEqual(first.said, ['leads', 'works', 'stopped']);
    await works(second);
    assert.ok(performance.now() - stopped < 3000, 'the next need not wait for the lease to expire');
    await second.end('SIGTERM');
    const record = await lease('released');
    assert.deepEqual([record.holderIdentity, record.leaseDurationSeconds], ['', 1]);
  });

  it('a leader that was frozen does nothing more when it comes back', async () => {
    const [first, second] = await two('frozen');
    first.signal('SIGSTOP');
    await works(second);
    const before = first.length;
    first.signal('SIGCONT');
    await eventually(() => assert.equal(first.said.at(-1), 'lost'));
    assert.equal(first.length - before, 'lost\n'.length, 'it worked after another had taken over');
    assert.equal((await lease('frozen')).holderIdentity, 'second');
    await second.end('SIGTERM');
  });

  it('a leader gives up when the API server is away, and leads again when it is back', async () => {
    const first = start('away', 'first');
    await works(first);
    controlPlane.apiServer.kill('SIGSTOP');
    try {
      await eventually(() => assert.equal(first.said.at(-1), 'lost'), 10_000);
    } finally {
      controlPlane.apiServer.kill('SIGCONT');
    }
    const again = start('away', 'again');
    await works(again);
    await again.end('SIGTERM');
  });
}

const [, , mode, kubeconfig = '', name = '', identity = ''] = process.argv;
if (mode === 'compete') await compete(kubeconfig, name, identity);
else describe('leader election on the real API server', suite);
