const API_SERVICE = 'apiservice/v2.stored.michelangelo.api';

/** Has the API server trust the query API, as cert-manager's injector does in a cluster, and waits until it passes on to it. */
export async function trustQuery(
  kubectl: (...args: readonly string[]) => Promise<string>,
  caPem: string,
): Promise<void> {
  const spec = { caBundle: Buffer.from(caPem).toString('base64') };
  const manager = '--field-manager=cert-manager-cainjector';
  await kubectl('patch', API_SERVICE, '--type=merge', manager, '-p', JSON.stringify({ spec }));
  await kubectl('wait', API_SERVICE, '--for=condition=Available', '--timeout=120s');
}
