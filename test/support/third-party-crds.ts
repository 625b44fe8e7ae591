// CRDs of the tools that the manifests are for, from their published Go modules. Only for tests.

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { cacheDirectory } from '../../hack/local/cache-directory.ts';
import { cachedFolder } from '../../hack/local/cached-folder.ts';
import { findGo } from '../../hack/local/control-plane-build.ts';
import { runCommand } from '../../hack/local/run-command.ts';
import { CodedError } from '../../src/base/errors.ts';

interface Source {
  readonly module: string;
  readonly files: readonly string[];
}

/** Versions whose modules the Go that builds the control plane can read. */
const sources: readonly Source[] = [
  {
    module: 'github.com/cert-manager/cert-manager@v1.21.2',
    files: ['deploy/crds/cert-manager.io_certificates.yaml', 'deploy/crds/cert-manager.io_issuers.yaml'],
  },
  {
    module: 'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    files: [
      'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml',
      'example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml',
    ],
  },
  {
    module: 'github.com/fluxcd/kustomize-controller@v1.9.4',
    files: ['config/crd/bases/kustomize.toolkit.fluxcd.io_kustomizations.yaml'],
  },
  {
    module: 'github.com/fluxcd/source-controller@v1.9.0',
    files: ['gitrepositories', 'ocirepositories', 'buckets'].map(
      (plural) => `config/crd/bases/source.toolkit.fluxcd.io_${plural}.yaml`,
    ),
  },
  {
    module: 'github.com/argoproj/argo-cd/v3@v3.5.0',
    files: [
      'manifests/crds/application-crd.yaml',
      'manifests/crds/applicationset-crd.yaml',
      'manifests/crds/appproject-crd.yaml',
    ],
  },
];

/** The folder with the CRDs, filled once; undefined where there is no Go to fetch them with. */
export async function thirdPartyCrds(): Promise<string | undefined> {
  if ((await findGo(process.env)) === undefined) return undefined;
  const hash = createHash('sha256').update(JSON.stringify(sources)).digest('hex').slice(0, 12);
  const path = join(cacheDirectory(), 'third-party-crds', hash);
  const preparation = { env: process.env, progress: () => undefined, signal: undefined };
  return cachedFolder({ path, what: 'the CRDs of other projects', fill }, preparation);
}

async function fill(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  for (const { module, files } of sources) {
    const { code, stdout, stderr } = await runCommand('go', ['mod', 'download', '-json', module], {
      cwd: folder,
      env: { ...process.env, GOWORK: 'off' },
    });
    if (code !== 0) throw new CodedError('TEST_SETUP', `go mod download ${module}: ${stdout}${stderr}`);
    const { Dir: directory } = JSON.parse(stdout) as { Dir: string };
    for (const file of files) writeFileSync(join(folder, basename(file)), readFileSync(join(directory, file)));
  }
}
