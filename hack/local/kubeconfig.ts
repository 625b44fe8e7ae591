import type { Certificate } from './certificates.ts';

export interface KubeconfigOptions {
  readonly url: string;
  readonly caPem: string;
  readonly user: { readonly name: string } & ({ readonly certificate: Certificate } | { readonly token: string });
  readonly clusterName?: string;
}

/** The text of a kubeconfig with one cluster and one user. JSON is YAML. */
export function kubeconfigText({ url, caPem, user, clusterName = 'local' }: KubeconfigOptions): string {
  const context = `${user.name}@${clusterName}`;
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: clusterName, cluster: { server: url, 'certificate-authority-data': base64(caPem) } }],
    users: [{ name: user.name, user: credentials(user) }],
    contexts: [{ name: context, context: { cluster: clusterName, user: user.name } }],
    'current-context': context,
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}

function credentials(user: KubeconfigOptions['user']): Record<string, string> {
  if ('token' in user) return { token: user.token };
  return {
    'client-certificate-data': base64(user.certificate.certificatePem),
    'client-key-data': base64(user.certificate.keyPem),
  };
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
