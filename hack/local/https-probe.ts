import { request } from 'node:https';
import type { Certificate } from './certificates.ts';

export interface ProbeIdentity {
  readonly caPem: string;
  readonly client: Certificate;
}

const timeoutMs = 2000;

/** Whether a GET answers 200. Whatever goes wrong is a no. */
export function answersOk(url: string, { caPem, client }: ProbeIdentity): Promise<boolean> {
  return new Promise((resolve) => {
    const options = { ca: caPem, cert: client.certificatePem, key: client.keyPem, agent: false, timeout: timeoutMs };
    const sent = request(url, options, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    sent.on('timeout', () => sent.destroy());
    sent.on('error', () => resolve(false));
    sent.end();
  });
}
