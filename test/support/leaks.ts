// Everything that the processes of a bundle say where users and programs can read it, searched for secrets.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bundle } from '../../hack/local/bundle.ts';
import { probe } from '../../hack/local/role-process.ts';

/** What was said, by where it was said. */
export type Said = Readonly<Record<string, string>>;

/** Secret values, by what they are. */
export type Secrets = Readonly<Record<string, string>>;

/** stdout and stderr of both roles, metrics, health, events of every namespace, and the ConfigMaps of the bundle. */
export async function saidBy(bundle: Bundle): Promise<Said> {
  const { reconciler, webhook, reconcilerHealthPort, webhookHealthPort, kubectl } = bundle;
  const health = async (port: number, path: string): Promise<string> => (await probe(port, path)).body;
  return {
    'log of the reconciler': readFileSync(reconciler.logFile, 'utf8'),
    'log of the webhook': readFileSync(webhook.logFile, 'utf8'),
    'metrics of the reconciler': await health(reconcilerHealthPort, '/metrics'),
    'readiness of the reconciler': await health(reconcilerHealthPort, '/readyz?verbose'),
    'metrics of the webhook': await health(webhookHealthPort, '/metrics'),
    'readiness of the webhook': await health(webhookHealthPort, '/readyz?verbose'),
    events: await kubectl('get', 'events.events.k8s.io', '-A', '-o', 'json'),
    'ConfigMaps of the bundle': await kubectl('get', 'configmaps', '-n', 'ingester-system', '-o', 'json'),
  };
}

/** What every bundle has to keep to itself. */
export function secretsOf({ database, directory }: Bundle): Secrets {
  const [, key = ''] = readFileSync(join(directory, 'tls', 'tls.key'), 'utf8').split('\n');
  return {
    'password of the writer': database.writer.password,
    'password of the migrator': database.migrator.password,
    'token of the service account': tokenIn(join(directory, 'ingester-reconciler.kubeconfig')),
    'private key of the webhook': key,
  };
}

function tokenIn(kubeconfig: string): string {
  const { users } = JSON.parse(readFileSync(kubeconfig, 'utf8')) as { users: [{ user: { token: string } }] };
  return users[0].user.token;
}

/** Which secret is in what was said: as it is, and as logs, URLs and Kubernetes write it. */
export function leaks(said: Said, secrets: Secrets): readonly string[] {
  return Object.entries(secrets).flatMap(([what, secret]) => {
    if (secret.length < 8) return [`the ${what} is too short to look for`];
    const forms = new Set([
      secret,
      JSON.stringify(secret).slice(1, -1),
      encodeURIComponent(secret),
      ...base64Forms(secret),
    ]);
    return Object.entries(said)
      .filter(([, text]) => [...forms].some((form) => text.includes(form)))
      .map(([where]) => `the ${what} is in: ${where}`);
  });
}

/** Inside a longer text that is encoded, it begins at one of three places of a group of four. */
function base64Forms(secret: string): readonly string[] {
  return [0, 1, 2].map((shift) => {
    const encoded = Buffer.from('x'.repeat(shift) + secret).toString('base64');
    // What stands at the ends is mixed with what is around it.
    return encoded.slice(shift === 0 ? 0 : 4, encoded.length - 4);
  });
}
