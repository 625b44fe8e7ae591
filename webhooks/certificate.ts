import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../src/base/clock.ts';
import { CodedError, messageOf } from '../src/base/errors.ts';
import type { Logger } from '../src/base/logger.ts';
import type { AdmissionMetrics } from '../src/metrics/admission.ts';

export class CertificateError extends CodedError {
  constructor(message: string) {
    super('CERTIFICATE_INVALID', message);
  }
}

/** A certificate chain and its private key, as PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
  /** When the certificate of the server, the first of the chain, expires. */
  readonly notAfter: Date;
  /** The authority whose clients alone are answered. Missing: every client is. */
  readonly clientCa?: string;
}

/**
 * Reads tls.crt and tls.key from the folder, which is the value of a setting, proves that they belong together, and adds the
 * authority of clients.
 */
export function loadKeyPair(certDir: string, clientCaFile = '', setting = 'server.certDir'): KeyPair {
  const cert = read(join(certDir, 'tls.crt'), setting);
  const key = read(join(certDir, 'tls.key'), setting);
  const { matches, notAfter } = examine(cert, key);
  if (!matches) {
    throw new CertificateError(
      `${join(certDir, 'tls.crt')} and tls.key do not belong together. Mount both from the same Secret.`,
    );
  }
  return { cert, key, notAfter, ...(clientCaFile === '' ? {} : { clientCa: authorityIn(clientCaFile) }) };
}

function authorityIn(path: string): string {
  try {
    const pem = readFileSync(path, 'utf8');
    new X509Certificate(pem);
    return pem;
  } catch (error) {
    throw new CertificateError(`Cannot use ${path}: ${messageOf(error)}. Set webhook.clientCaFile to a PEM file.`);
  }
}

function read(path: string, setting: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new CertificateError(
      `Cannot read ${path}: ${messageOf(error)}. Set ${setting} to the folder with tls.crt and tls.key.`,
    );
  }
}

function examine(cert: string, key: string): { readonly matches: boolean; readonly notAfter: Date } {
  try {
    const certificate = new X509Certificate(cert);
    return { matches: certificate.checkPrivateKey(createPrivateKey(key)), notAfter: certificate.validToDate };
  } catch (error) {
    // OpenSSL's text names the problem and never holds key material.
    throw new CertificateError(`The certificate or the key is not valid PEM: ${messageOf(error)}`);
  }
}

// Certificates are renewed while the server runs. The kubelet swaps a mounted Secret by a symbolic link, at any moment,
// so content is compared and not times, and a pair that does not fit together is left for the next look.

export interface CertificateWatcherOptions {
  readonly certDir: string;
  readonly clientCaFile: string;
  readonly periodMs: number;
  /** Called with each new pair that is valid; the old one stays in use until then. */
  readonly onChange: (pair: KeyPair) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: AdmissionMetrics;
}

/** Looks at the folder every period, starting with the pair in use. The returned function ends it. */
export function watchCertificate(initial: KeyPair, options: CertificateWatcherOptions): () => void {
  const { certDir, clientCaFile, periodMs, onChange, clock, logger, metrics } = options;
  let inUse = initial;
  let reported = '';
  let cancel = (): void => undefined;

  const look = (): void => {
    try {
      const found = loadKeyPair(certDir, clientCaFile);
      metrics.certificateRead();
      reported = '';
      if ((['cert', 'key', 'clientCa'] as const).some((part) => found[part] !== inUse[part])) {
        onChange(found);
        inUse = found;
        metrics.certificateInUse(found.notAfter);
        logger.info({ notAfter: found.notAfter }, 'Certificate replaced');
      }
    } catch (error) {
      metrics.certificateUnusable();
      // Once for each problem, not once a period.
      if (messageOf(error) !== reported) {
        logger.warn(
          { err: error, notAfter: inUse.notAfter },
          'New certificate is not usable; the old one stays in use',
        );
      }
      reported = messageOf(error);
    }
    cancel = clock.schedule(periodMs, look);
  };

  metrics.certificateRead();
  metrics.certificateInUse(initial.notAfter);
  cancel = clock.schedule(periodMs, look);
  return () => cancel();
}
