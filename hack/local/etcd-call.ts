import { type Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';
import { CodedError } from '../../src/base/errors.ts';

export interface EtcdAccess {
  readonly url: string;
  readonly caPem: string;
  /** The only client that etcd lets in. */
  readonly client: { readonly certificatePem: string; readonly keyPem: string };
}

export interface EtcdAnswer {
  readonly header: { readonly revision: string };
}

/** One call to the JSON gateway of etcd. Keys and values are in base64. */
export function callEtcd(
  access: EtcdAccess,
  path: string,
  body: object,
  agent: Agent | false = false,
): Promise<EtcdAnswer> {
  const { url, caPem, client } = access;
  const tls = { ca: caPem, cert: client.certificatePem, key: client.keyPem };
  return new Promise((resolve, reject) => {
    const sent = request(`${url}${path}`, { method: 'POST', agent, ...tls }, (response) => {
      void text(response).then((answer) => {
        if (response.statusCode === 200) resolve(JSON.parse(answer) as EtcdAnswer);
        else reject(new CodedError('LOCAL_ETCD', `etcd answered ${response.statusCode}: ${answer}`));
      }, reject);
    });
    sent.on('error', reject);
    sent.end(JSON.stringify(body));
  });
}
