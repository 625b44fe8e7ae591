// Certificates are renewed while the server runs. The kubelet swaps a mounted Secret by a symbolic link, at any moment,
// so content is compared and not times, and a pair that does not fit together is left for the next look.
import type { Clock } from '../src/base/clock.ts';
import { messageOf } from '../src/base/errors.ts';
import type { Logger } from '../src/base/logger.ts';
import type { AdmissionMetrics } from '../src/metrics/admission.ts';
import { type KeyPair, loadKeyPair } from './certificate.ts';

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
