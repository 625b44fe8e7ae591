// The webhook's certificate where there is no cert-manager: made here, put into a Secret, and trusted by the API server
// for the bundle's webhooks. Trust comes first: at no moment is a certificate served that is not trusted.

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { BUNDLE_LABEL, BUNDLE_NAME } from '../../api/names.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { isAborted } from '../../base/abort.ts';
import { type Clock, sleep, systemClock } from '../../base/clock.ts';
import { CodedError } from '../../base/errors.ts';
import { valueAt } from '../../base/json.ts';
import { type PemPair, selfSigned } from '../../base/self-signed.ts';
import type { Configuration } from '../../config/schema.ts';
import type { KubeClient, ObjectRef, Resource } from '../../kube/client.ts';
import { ifFound } from '../../kube/found.ts';
import { secrets } from '../../kube/resources.ts';
import { commandClient } from '../kube-client.ts';

export interface CertificatesRun {
  readonly secret: string;
  /** How long to wait for the registrations, which may be applied after this Job. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly progress: (line: string) => void;
}

export interface CertificatesReport {
  readonly issued: boolean;
  /** Registrations whose trust was changed. */
  readonly trusted: readonly string[];
  readonly hosts: readonly string[];
  readonly notAfter: string;
}

/** No webhook of the bundle is registered, so no client would trust a certificate. */
export class WebhookUnregisteredError extends CodedError {
  constructor(missing: string) {
    super(
      'WEBHOOK_UNREGISTERED',
      `The bundle has no ${missing} with a Service. Apply the manifests, then run this again.`,
    );
  }
}

const GROUP = 'admissionregistration.k8s.io';
const plurals = ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'] as const;
const BETWEEN_TRIES_MS = 1000;
const PAGE = 100;

interface Registration {
  readonly ref: ObjectRef;
  readonly resourceVersion: string;
  readonly services: readonly string[];
  /** What each of its webhooks trusts, as PEM. */
  readonly trusted: readonly string[];
}

interface Context extends CertificatesRun {
  /** Of the Secret, and of the webhooks' Service. */
  readonly namespace: string;
  readonly client: KubeClient;
  readonly clock: Clock;
}

export async function runCertificates(configuration: Configuration, run: CertificatesRun): Promise<CertificatesReport> {
  const client = commandClient(configuration, systemClock);
  try {
    return await ensure({ ...run, namespace: configuration.kubernetes.namespace, client, clock: systemClock });
  } finally {
    await client.close();
  }
}

async function ensure(context: Context): Promise<CertificatesReport> {
  const { client, clock, namespace, secret } = context;
  const registrations = await registered(context);
  const services = [...new Set(registrations.flatMap((each) => each.services))];
  const hosts = services.map((service) => `${service}.${namespace}.svc`);
  const now = clock.now();
  const ref: ObjectRef = { resource: secrets, namespace, name: secret };
  const stored = await ifFound(client.get(ref));
  const found = keyPairOf(stored);
  const good = isGood(found, hosts, now);
  const pair = good ? found : await selfSigned(hosts[0] ?? secret, hosts, now);
  const trusted: string[] = [];
  for (const registration of registrations) {
    if (await trust(client, registration, { pair, now })) trusted.push(registration.ref.name);
  }
  if (!good) await store(client, ref, { stored, pair });
  const notAfter = parseCertificate(pair.certificatePem)?.validToDate.toISOString() ?? '';
  return { issued: !good, trusted, hosts, notAfter };
}

/** Of each plural at least one: both are applied, one after the other. */
async function registered(context: Context): Promise<readonly Registration[]> {
  const { clock, timeoutMs, signal, progress } = context;
  const deadline = clock.monotonicMs() + timeoutMs;
  for (;;) {
    const found = await Promise.all(plurals.map((plural) => registrationsOf(context, plural)));
    const missing = plurals.find((_, index) => found[index]?.length === 0);
    if (missing === undefined) return found.flat();
    if (isAborted(signal) || clock.monotonicMs() >= deadline) throw new WebhookUnregisteredError(missing);
    progress(`Waiting for ${missing} of the bundle.`);
    await sleep(clock, BETWEEN_TRIES_MS, signal);
  }
}

async function registrationsOf(
  { client, namespace, signal }: Context,
  plural: string,
): Promise<readonly Registration[]> {
  const resource: Resource = { group: GROUP, version: 'v1', plural };
  const labelSelector = `${BUNDLE_LABEL}=${BUNDLE_NAME}`;
  const { items } = await client.list(resource, { limit: PAGE, labelSelector }, signal);
  return items.flatMap((listed) => {
    const item = listed.parse();
    const clients = clientConfigs(item);
    // Another installation has its webhook in another namespace.
    if (clients.length === 0 || clients.some(({ service }) => service?.namespace !== namespace)) return [];
    return [
      {
        ref: { resource, namespace: '', name: item.metadata.name },
        resourceVersion: item.metadata.resourceVersion,
        services: clients.flatMap(({ service }) => (service === undefined ? [] : [service.name])),
        trusted: clients.map(({ caBundle = '' }) => Buffer.from(caBundle, 'base64').toString()),
      },
    ];
  });
}

interface ClientConfig {
  readonly service?: { readonly namespace: string; readonly name: string };
  readonly caBundle?: string;
}

function clientConfigs(item: KubernetesObject): readonly ClientConfig[] {
  const webhooks = valueAt(item, ['webhooks']);
  if (!Array.isArray(webhooks)) return [];
  return webhooks.map((webhook) => (webhook as { readonly clientConfig: ClientConfig }).clientConfig);
}

/** Whether anything had to change. A change by another client in between is a Conflict, and the Job is tried again. */
async function trust(
  client: KubeClient,
  { ref, resourceVersion, trusted }: Registration,
  { pair, now }: { readonly pair: PemPair; readonly now: Date },
): Promise<boolean> {
  const wanted = trusted.map((each) => trustOf(each, pair.certificatePem, now));
  if (wanted.every((each, index) => each === trusted[index])) return false;
  await client.patch(ref, [
    { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
    ...wanted.map((each, index) => ({
      op: 'add' as const,
      path: `/webhooks/${index}/clientConfig/caBundle`,
      value: Buffer.from(each).toString('base64'),
    })),
  ]);
  return true;
}

function keyPairOf(stored: KubernetesObject | undefined): PemPair {
  const at = (key: string): string => {
    const value = valueAt(stored, ['data', key]);
    return typeof value === 'string' ? Buffer.from(value, 'base64').toString() : '';
  };
  return { certificatePem: at('tls.crt'), keyPem: at('tls.key') };
}

async function store(
  client: KubeClient,
  ref: ObjectRef,
  { stored, pair }: { readonly stored: KubernetesObject | undefined; readonly pair: PemPair },
): Promise<void> {
  const { namespace, name, resource } = ref;
  const data = {
    'tls.crt': Buffer.from(pair.certificatePem).toString('base64'),
    'tls.key': Buffer.from(pair.keyPem).toString('base64'),
  };
  const labels = { [BUNDLE_LABEL]: BUNDLE_NAME };
  const fresh = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace, labels },
    type: 'kubernetes.io/tls',
    data,
  };
  if (stored === undefined) await client.create(resource, namespace, fresh);
  // The resourceVersion of what was read: two runs at once do not overwrite each other.
  else await client.update(ref, { ...stored, data });
}

// What to do about the webhook's certificate, decided from what the cluster has. Pure.

/** A new one is made when less than this part of its life is left, so that a task that fails has months to be noticed. */
const RENEW_BELOW = 1 / 3;

/** Whether this certificate serves for all hosts, for long enough, with this key. */
export function isGood({ certificatePem, keyPem }: PemPair, hosts: readonly string[], now: Date): boolean {
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

// Certificates read.

function parseCertificate(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

/** The certificates of a bundle, one text each. */
function certificatesIn(bundle: string): readonly string[] {
  return [...bundle.matchAll(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)].map(([pem]) => pem);
}
