import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { startReaper } from '../../hack/local/reaper.ts';
import { ServerDied, whileAllRun } from '../../hack/local/server-died.ts';
import { ServerProcess } from '../../hack/local/server-process.ts';
import { temporaryFolder } from '../support/processes.ts';

const never = new Promise<never>(() => undefined);

describe('work that needs servers', () => {
  const directory = temporaryFolder();
  const reaper = startReaper();
  after(() => reaper.dismiss());

  async function started(name: string, script: string): Promise<ServerProcess> {
    const logFile = join(directory, `${name}.log`);
    const command = { command: 'sh', args: ['-c', script] };
    const server = new ServerProcess({ name, ...command, directory, logFile, reaper, ready: () => true });
    await server.start();
    return server;
  }

  it('fails when one dies, with its name, its exit code and a copy of its log', async () => {
    const servers = [
      await started('lasting', 'sleep 60'),
      await started('dying', 'echo last words; sleep 0.2; exit 3'),
    ];
    await assert.rejects(whileAllRun(servers, never), (error: unknown) => {
      assert.ok(error instanceof ServerDied);
      const [, log = ''] = /^dying died with exit code 3\. Its log is (\S+), which ends:/.exec(error.message) ?? [];
      assert.match(readFileSync(log, 'utf8'), /last words/);
      rmSync(dirname(log), { recursive: true });
      return true;
    });
    await servers[0]?.stop();
  });

  it('fails with the death of a server rather than with what the death broke', async () => {
    const server = await started('killed', 'sleep 60');
    if (server.pid !== undefined) process.kill(server.pid, 'SIGKILL');
    await assert.rejects(whileAllRun([server], Promise.reject(new Error('connection refused'))), (error: unknown) => {
      assert.ok(error instanceof ServerDied);
      assert.match(error.message, /^killed died with exit code 137 \(SIGKILL\)/);
      rmSync(dirname(/log is (\S+),/.exec(error.message)?.[1] ?? ''), { recursive: true });
      return true;
    });
  });

  it('goes on when one is stopped, killed or restarted on purpose, and gives its result', async () => {
    const server = await started('told', 'sleep 60');
    const work = async (): Promise<string> => {
      await server.restart();
      await server.crash();
      await server.start();
      await server.stop();
      return 'done';
    };
    assert.equal(await whileAllRun([server], work()), 'done');
  });

  it('fails with its own error while every server runs', async () => {
    const server = await started('running', 'sleep 60');
    await assert.rejects(whileAllRun([server], Promise.reject(new Error('its own'))), /its own/);
    await server.stop();
  });
});
