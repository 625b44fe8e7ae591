// The README's first command, as a newcomer runs it.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { runCommand } from '../../hack/local/run-command.ts';
import { waitUntil } from '../../hack/local/wait-until.ts';
import { eventually } from '../support/eventually.ts';
import { processesOf } from '../support/processes.ts';

const main = join(import.meta.dirname, '../../hack/demo/main.ts');
const STARTED_MS = 400_000;

const children: ChildProcess[] = [];

function demo(...flags: readonly string[]) {
  return running(process.execPath, [main, ...flags]);
}

/** With a terminal of its own; what is written to the process is typed there. */
function demoInTerminal() {
  return running('script', ['-qefc', `'${process.execPath}' '${main}'`, '/dev/null']);
}

function running(command: string, args: readonly string[]) {
  const child = spawn(command, args, { stdio: 'pipe' });
  children.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const exit = once(child, 'exit').then(([code]: unknown[]) => code);
  const shows = async (pattern: RegExp): Promise<void> => {
    const settled = (): boolean => pattern.test(output) || child.exitCode !== null;
    await waitUntil(settled, { timeoutMs: STARTED_MS });
    assert.match(output, pattern);
  };
  return { child, exit, output: () => output, shows };
}

/** What is printed for the reader to try. */
function offered(output: string) {
  const [, ending = ''] = output.split('It is yours');
  const commands = [...ending.matchAll(/^ +\$ (.+)$/gm)].map(([, line = '']) => line);
  const addresses = ending.match(/https?:\S+/g) ?? [];
  return { commands, addresses, directory: dirname(dirname(commands[0]?.split(' ')[0] ?? '')) };
}

async function printed(command: string): Promise<string> {
  const { code, stdout, stderr } = await runCommand('env', ['-i', 'PATH=/usr/bin:/bin', 'sh', '-c', command]);
  assert.equal(code, 0, `${command}: ${stderr}`);
  return stdout;
}

describe('npm run demo', () => {
  // Those of tests that failed would keep this file from its end.
  after(() => children.forEach((child) => child.kill()));

  it('tells the whole story with --once, runs the three commands and ends with 0', async () => {
    const { exit, output } = demo('--once');
    assert.equal(await exit, 0, output());
    for (const proof of [
      'All 13 are as apiserver, the API server of Michelangelo, wrote them',
      'All 13 objects carry the finalizer',
      '13 objects, 13 rows',
      'algorithm and res_version are those of the patch',
      'held by the finalizer, because MySQL does not know the final state yet',
      'row soft-deleted',
      'Soft-deleted in MySQL, then gone from the cluster',
      'Not in etcd any more, complete in MySQL, and not deleted',
      'Each of them shows what it is for',
    ]) {
      assert.ok(output().includes(proof), `${proof}\n${output()}`);
    }
  });

  it('offers one address and three commands that show something, changes objects, and cleans up on Ctrl-C', async () => {
    const { child, exit, output, shows } = demo();
    await shows(/It is yours.*until Ctrl-C/s);
    const { commands, addresses, directory } = offered(output());
    assert.equal(commands.length, 3);
    const [status = '', show = '', restore = ''] = commands;
    for (const part of ['reconciler', 'MySQL', 'admission', 'query API'])
      assert.match(await printed(status), new RegExp(`^${part} +works `, 'm'));
    assert.match(await printed(show), /^ingester-test-pipelinerun .* {2}MySQL /m);
    assert.match(await printed(restore), /^PipelineRun ingester-test\/ingester-test-pipelinerun restored as uid /);
    await eventually(async () => assert.match(await printed(show), / etcd and MySQL, restored /));

    const path = /^ +(export PATH=.+)$/m.exec(output())?.[1] ?? '';
    const listed = 'kubectl ingester get pipelineruns -n ingester-test';
    assert.match(await printed(`${path}; ${listed}`), /^ingester-test-pipelinerun /m);

    assert.equal(addresses.length, 1);
    const page = new URL(addresses.join());
    assert.match(await (await fetch(page)).text(), /<title>Stored objects</);
    const list = new URL('../models?limit=500', page);
    await eventually(async () => assert.match(await (await fetch(list)).text(), /"name":"demo-2"/));
    assert.equal((await fetch(new URL('/api/v1/secrets', page))).status, 403, 'the page is all that is served');
    const pipelineRun = new URL('../namespaces/ingester-test/pipelineruns/ingester-test-pipelinerun', page);
    assert.equal((await fetch(pipelineRun, { method: 'DELETE' })).status, 403, 'nothing is written');

    assert.ok(existsSync(directory));
    child.kill('SIGINT');
    assert.equal(await exit, 0);
    assert.ok(!existsSync(directory));
    assert.deepEqual(processesOf(directory), []);
  });

  it('stops and starts MySQL by a key, and names a server that is killed', async () => {
    const { child, exit, output, shows } = demoInTerminal();
    await shows(/Press m to stop MySQL/);
    const { commands, directory } = offered(
      output()
        .replaceAll('\r', '')
        .replaceAll(/\u001b\[\d*[mK]/g, ''),
    );
    const [status = ''] = commands;
    child.stdin.write('m');
    await shows(/MySQL is stopped\. Within 15 seconds/);
    await eventually(async () => assert.match((await runCommand('sh', ['-c', status])).stdout, /^MySQL +FAILS /m));
    child.stdin.write('m');
    await shows(/MySQL is started again: within seconds/);
    await eventually(async () => assert.match(await printed(status), /^MySQL +works /m));

    const [scheduler] = processesOf(`${directory}/pki/kube-scheduler.kubeconfig`);
    assert.ok(scheduler !== undefined);
    process.kill(scheduler, 'SIGKILL');
    assert.equal(await exit, 1);
    const death = /kube-scheduler died with exit code 137 \(SIGKILL\)\. Its log is (\S+), which ends:/;
    assert.match(output(), death);
    const [, log = ''] = death.exec(output()) ?? [];
    assert.match(readFileSync(log, 'utf8'), /kube-scheduler/);
    rmSync(dirname(log), { recursive: true });
    assert.ok(!existsSync(directory));
  });

  it('refuses unknown options and explains itself', async () => {
    const unknown = demo('--twice');
    assert.equal(await unknown.exit, 2);
    assert.match(unknown.output(), /Unknown option --twice.*npm run demo -- --once/s);
  });
});
