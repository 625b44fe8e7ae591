// An etcd that is put back to an earlier state, and what an operator does about it (docs/audit.md).
import assert from 'node:assert/strict';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Bundle } from '../../hack/local/bundle.ts';
import { eventually } from '../support/eventually.ts';
import { runIngester } from '../support/ingester.ts';

const data = ({ controlPlane }: Bundle): string => join(controlPlane.directory, 'etcd');
const copy = ({ controlPlane }: Bundle): string => join(controlPlane.directory, 'etcd-backup');
/** A signal stops every thread of a process soon, not at once. */
const STOPPED_MS = 100;

/** As a snapshot of its disk has it: the files of one moment, in the middle of whatever etcd was writing. */
export async function backUpEtcd(bundle: Bundle): Promise<void> {
  const { etcd } = bundle.controlPlane;
  etcd.kill('SIGSTOP');
  try {
    await delay(STOPPED_MS);
    rmSync(copy(bundle), { recursive: true, force: true });
    cpSync(data(bundle), copy(bundle), { recursive: true });
  } finally {
    etcd.kill('SIGCONT');
  }
}

/** With what remembers objects and versions: the API server must be restarted, the controller manager should be. */
export async function restoreEtcd(bundle: Bundle): Promise<void> {
  const { apiServer, etcd, controllerManager } = bundle.controlPlane;
  await Promise.all([controllerManager?.stop(), apiServer.stop()]);
  await etcd.stop();
  rmSync(data(bundle), { recursive: true });
  cpSync(copy(bundle), data(bundle), { recursive: true });
  await etcd.start();
  await apiServer.start();
  await controllerManager?.start();
}

/** MySQL keeps the locks of a connection that the network lost for a minute and a half. */
const LIMIT_MS = 240_000;

/** The cluster is right: MySQL is set back to it, until nothing is left open. Answers what the audits found. */
export async function repairRestored(bundle: Bundle): Promise<string> {
  const audit = ['audit', '--kind', 'RayJob', '--repair-restored', '--max-percent', '100'];
  const heads: string[] = [];
  await eventually(async () => {
    const { code, stdout, stderr } = await runIngester(bundle, audit);
    heads.push(stdout.split('\n', 1)[0] ?? '');
    assert.equal(code, 0, `${stdout}${stderr}`);
  }, LIMIT_MS);
  return heads.join('; ');
}
