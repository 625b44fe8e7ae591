// config/argocd as a platform has it in its own repository.
import type { GitRepository } from './git-repository.ts';

/** Puts the address and the branch of the repository into the samples. */
export function writeAddress(git: GitRepository): void {
  for (const name of ['project', 'platform', 'bundle', 'instances']) {
    const path = `config/argocd/${name}.yaml`;
    const text = git.read(path).replaceAll('https://git.example/platform/ingester.git', git.url);
    git.write(path, text.replaceAll('targetRevision: v0.1.0', `targetRevision: ${git.branch}`));
  }
}

/** The Application "ingester" that points at them, and the project that it belongs to. */
export function appOfApps(git: GitRepository): readonly object[] {
  const namespace = 'argocd';
  const project = {
    ...{ apiVersion: 'argoproj.io/v1alpha1', kind: 'AppProject' },
    metadata: { name: 'everything', namespace },
    spec: {
      sourceRepos: ['*'],
      destinations: [{ server: '*', namespace: '*' }],
      clusterResourceWhitelist: [{ group: '*', kind: '*' }],
    },
  };
  const application = {
    ...{ apiVersion: 'argoproj.io/v1alpha1', kind: 'Application' },
    metadata: { name: 'ingester', namespace },
    spec: {
      project: 'everything',
      source: { repoURL: git.url, targetRevision: git.branch, path: 'config/argocd' },
      destination: { server: 'https://kubernetes.default.svc', namespace },
      syncPolicy: { automated: {}, retry: { limit: 5, refresh: true } },
    },
  };
  return [project, application];
}
