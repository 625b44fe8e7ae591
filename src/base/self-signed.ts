// A certificate that a server makes for itself.

import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

const keyAlgorithm = { name: 'ECDSA', namedCurve: 'P-256' } as const;
const HOUR_MS = 60 * 60 * 1000;
const LIFETIME_MS = 365 * 24 * HOUR_MS;

export interface PemPair {
  readonly certificatePem: string;
  readonly keyPem: string;
}

/** A server certificate that is its own authority: a client that trusts it trusts nothing else. */
export async function selfSigned(commonName: string, hosts: readonly string[], now: Date): Promise<PemPair> {
  const keys = await webcrypto.subtle.generateKey(keyAlgorithm, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [commonName] }],
    keys,
    signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
    // Clocks differ a little.
    notBefore: new Date(now.getTime() - HOUR_MS),
    notAfter: new Date(now.getTime() + LIFETIME_MS),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(hosts.map((value) => ({ type: 'dns', value }))),
    ],
  });
  const key = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
  return { certificatePem: certificate.toString('pem'), keyPem: x509.PemConverter.encode(key, 'PRIVATE KEY') };
}
