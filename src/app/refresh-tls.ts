import { repeat, systemClock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { ServerTls } from '../base/https-server.ts';
import type { Logger } from '../base/logger.ts';

/** How often certificates and the API server's settings are looked at. */
const REFRESH_MS = 10_000;

export interface TlsRefresh {
  readonly read: () => ServerTls | Promise<ServerTls>;
  readonly inUse: ServerTls;
  readonly use: (tls: ServerTls) => void;
  readonly logger: Logger;
}

/** Until the signal: a renewed certificate, or a new authority of the API server, is used without a restart. */
export async function refreshTls({ read, inUse: first, use, logger }: TlsRefresh, signal: AbortSignal): Promise<void> {
  let inUse = JSON.stringify(first);
  await repeat({ clock: systemClock, periodMs: REFRESH_MS, signal }, async () => {
    try {
      const tls = await read();
      const text = JSON.stringify(tls);
      if (text === inUse) return;
      use(tls);
      inUse = text;
      logger.info({}, 'Certificates replaced');
    } catch (error) {
      logger.warn({ reason: messageOf(error) }, 'Certificates could not be read again; the old ones stay in use');
    }
  });
}
