// What users run: the built program, with memory handled as the manifests ask for.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildProgram } from '../../hack/build/program.ts';
import { manifestsOf } from '../support/renders.ts';

interface Deployment {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly { readonly env: readonly { readonly name: string; readonly value?: string }[] }[];
      };
    };
  };
}

export interface ShippedProgram {
  readonly main: string;
  readonly env: Readonly<Record<string, string>>;
  remove(): void;
}

type Role = 'webhook' | 'reconciler' | 'query';

const folders: Readonly<Record<Role, string>> = {
  webhook: 'base/webhook',
  reconciler: 'base/reconciler',
  query: 'components/query',
};

export async function buildShipped(role: Role): Promise<ShippedProgram> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-program-'));
  await buildProgram(folder, undefined);
  return {
    main: join(folder, 'src/main.js'),
    env: memorySettings(role),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** How the manifests have Node and the C library handle memory. */
export function memorySettings(role: Role): Readonly<Record<string, string>> {
  const file = join(import.meta.dirname, `../../config/${folders[role]}/deployment.yaml`);
  const deployments = manifestsOf(readFileSync(file, 'utf8')).filter(({ kind }) => kind === 'Deployment');
  const variables = (deployments as unknown as readonly Deployment[]).flatMap(({ spec }) =>
    spec.template.spec.containers.flatMap(({ env }) => env),
  );
  const handling = variables.filter(({ name }) => /^(NODE|MALLOC)_/.test(name));
  return Object.fromEntries(handling.map(({ name, value = '' }) => [name, value]));
}
