// What to do about the webhook's certificate, decided from what the cluster has. Pure.
import { createPrivateKey, type X509Certificate } from 'node:crypto';
import { certificatesIn, type KeyPair, parseCertificate } from './self-signed.ts';

/** A new one is made when less than this part of its life is left, so that a task that fails has months to be noticed. */
const RENEW_BELOW = 1 / 3;

/** Whether this certificate serves for all hosts, for long enough, with this key. */
export function isGood({ certificatePem, keyPem }: KeyPair, hosts: readonly string[], now: Date): boolean {
  const certificate = parseCertificate(certificatePem);
  if (certificate === undefined || !fits(certificate, keyPem)) return false;
  const [from, to] = [certificate.validFromDate.getTime(), certificate.validToDate.getTime()];
  const left = (to - now.getTime()) / (to - from);
  return left > RENEW_BELOW && left <= 1 && hosts.every((host) => certificate.checkHost(host) !== undefined);
}

function fits(certificate: X509Certificate, keyPem: string): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(keyPem));
  } catch {
    return false;
  }
}

/**
 * What to trust: all that was trusted and has not expired, since replicas serve the old certificate until they have seen
 * the new one, and the given one.
 */
export function trustOf(trusted: string, certificatePem: string, now: Date): string {
  const valid = certificatesIn(trusted).filter((pem) => (parseCertificate(pem)?.validToDate ?? now) > now);
  return `${[...new Set([...valid, ...certificatesIn(certificatePem)])].join('\n')}\n`;
}
