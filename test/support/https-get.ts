import { request } from 'node:https';

export interface HttpsAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: unknown;
}

interface Trust {
  readonly caPem: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A GET over verified TLS. The body is parsed as JSON. */
export function httpsGet(url: string, trust: Trust): Promise<HttpsAnswer> {
  return send(url, trust);
}

/** A POST of JSON over verified TLS. */
export function httpsPost(url: string, { caPem, headers = {} }: Trust, body: object): Promise<HttpsAnswer> {
  return send(url, { caPem, headers: { 'content-type': 'application/json', ...headers } }, body);
}

function send(url: string, { caPem, headers = {} }: Trust, body?: object): Promise<HttpsAnswer> {
  const method = body === undefined ? 'GET' : 'POST';
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, ca: caPem, headers, agent: false }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.once('error', reject);
      response.once('end', () => {
        const answer: unknown = JSON.parse(Buffer.concat(pieces).toString());
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: answer });
      });
    });
    sent.once('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
