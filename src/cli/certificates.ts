import type { Command } from 'commander';
import type { CertificatesReport } from '../app/commands/certificates.ts';
import { outputOption } from './prepare.ts';
import { durationOption } from './print.ts';
import { runTask, type TaskFlags, type TaskReport } from './task.ts';

interface CertificatesFlags extends TaskFlags {
  readonly secret: string;
  readonly timeout: number;
}

export function addCertificatesCommand(task: Command): void {
  const command = task
    .command('certificates')
    .description(
      "make and renew the webhook's certificate, and have the API server trust it; for clusters without cert-manager",
    )
    .option('--secret <name>', 'Secret with tls.crt and tls.key that the webhook serves', 'ingester-webhook-tls')
    .addOption(durationOption('--timeout <duration>', 'how long to wait until the webhooks are registered', '2m'))
    .addOption(outputOption());
  command.action((flags: CertificatesFlags) =>
    runTask(command, flags, async ({ configuration, progress, signal }) => {
      const { runCertificates } = await import('../app/commands/certificates.ts');
      const { secret, timeout: timeoutMs } = flags;
      return reportOf(await runCertificates(configuration, { secret, timeoutMs, signal, progress }));
    }),
  );
}

function reportOf(report: CertificatesReport): TaskReport {
  const { issued, trusted, hosts, notAfter } = report;
  const outcome = issued ? 'issued' : trusted.length > 0 ? 'trusted' : 'unchanged';
  const texts = {
    issued: 'A new certificate was made',
    trusted: 'The certificate is trusted again',
    unchanged: 'The certificate is good',
  };
  return { outcome, figures: report, text: `${texts[outcome]}: ${hosts.join(', ')}, until ${notAfter}.` };
}
