// Credentials that are replaced while the controller runs, and of which the old ones are no longer accepted.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../../src/base/clock.ts';
import { isKubeError, type KubeReason } from '../../../src/kube/errors.ts';
import { HttpKubeClient } from '../../../src/kube/http/http-client.ts';
import { PooledTransport } from '../../../src/kube/http/transport.ts';
import { configMaps } from '../../../src/kube/resources.ts';
import { eventually } from '../eventually.ts';
import { jumpingClock } from '../jumping-clock.ts';
import { scenario } from './watched.ts';
import { NS, type World } from './world.ts';

/** Files are read again after less than this. */
const FRESH_MS = 60_000;

export function credentialFaults(world: () => World): void {
  scenario(
    'a token that is revoked, with the next one in its file',
    world,
    async () => ({ kubeconfig: await newToken(world()) }),
    async (_watched, one) => {
      const old = one.kubeconfig('old-token', one.controlPlane.url, { token: tokenOf(one) });
      // The tokens of an account end with it, though its successor has its name.
      await one.controlPlane.kubectlRun(['delete', 'serviceaccount', 'watcher', '-n', NS]);
      await newToken(one);
      await isRefused(old, 'Unauthorized');
      await reconnect(one);
      await one.write();
    },
  );

  const { clock, monotonic } = jumpingClock();
  scenario(
    'a client certificate that loses its rights, with the next one in its files',
    world,
    async () => ({ clock, kubeconfig: await newCertificate(world(), 'first') }),
    async (_watched, one) => {
      const files = { 'client-certificate': 'first.crt', 'client-key': 'first.key' };
      const old = one.kubeconfig('old-certificate', one.controlPlane.url, files);
      await newCertificate(one, 'second');
      await one.controlPlane.kubectlRun(['delete', 'clusterrolebinding', 'first']);
      await isRefused(old, 'Forbidden');
      monotonic(FRESH_MS);
      await reconnect(one);
      await one.write();
    },
  );
}

async function reconnect({ link }: World): Promise<void> {
  await link.cut();
  await link.heal();
}

function isRefused(kubeconfig: string, reason: KubeReason): Promise<void> {
  return eventually(async () => {
    const client = new HttpKubeClient(new PooledTransport({ kubeconfig, context: '', clock: systemClock }));
    try {
      const call = client.list(configMaps, { namespace: NS, limit: 1 }, new AbortController().signal);
      await assert.rejects(call, (error) => isKubeError(error, reason));
    } finally {
      await client.close();
    }
  }, 60_000);
}

const linkUrl = ({ link }: World): string => `https://${link.host}:${link.port}`;
const tokenFile = ({ controlPlane }: World): string => join(controlPlane.directory, 'watcher.token');
const tokenOf = (world: World): string => readFileSync(tokenFile(world), 'utf8');

/** Of an account that may do everything, which is made where it is missing. */
async function newToken(world: World): Promise<string> {
  const { controlPlane } = world;
  const account = ['serviceaccount', 'watcher', '-n', NS];
  await controlPlane.kubectlRun(['get', ...account]).catch(() => controlPlane.kubectlRun(['create', ...account]));
  await mayDoEverything(world, 'watcher', `--serviceaccount=${NS}:watcher`);
  const { stdout } = await controlPlane.kubectlRun(['create', 'token', 'watcher', '-n', NS]);
  writeFileSync(tokenFile(world), stdout.trim());
  return world.kubeconfig('watcher', linkUrl(world), { tokenFile: 'watcher.token' });
}

/** Written first the certificate, then its key, as two files are. */
async function newCertificate(world: World, user: string): Promise<string> {
  const { authority, directory } = world.controlPlane;
  const { certificatePem, keyPem } = await authority.issue({ commonName: user });
  await mayDoEverything(world, user, `--user=${user}`);
  for (const name of [user, 'rotating']) {
    writeFileSync(join(directory, `${name}.crt`), certificatePem);
    writeFileSync(join(directory, `${name}.key`), keyPem);
  }
  const files = { 'client-certificate': 'rotating.crt', 'client-key': 'rotating.key' };
  return world.kubeconfig('rotating', linkUrl(world), files);
}

async function mayDoEverything({ controlPlane }: World, name: string, subject: string): Promise<void> {
  const binding = ['clusterrolebinding', name];
  const create = ['create', ...binding, '--clusterrole=cluster-admin', subject];
  await controlPlane.kubectlRun(['get', ...binding]).catch(() => controlPlane.kubectlRun(create));
}
