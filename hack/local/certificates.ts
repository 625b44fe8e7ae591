import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';

const keyAlgorithm = { name: 'ECDSA', namedCurve: 'P-256' } as const;
const signingAlgorithm = { name: 'ECDSA', hash: 'SHA-256' } as const;
const dayMs = 24 * 60 * 60 * 1000;
const validDays = 365;

/** A certificate and its private key, both as PEM. */
export interface Certificate {
  readonly certificatePem: string;
  readonly keyPem: string;
}

export interface CertificateRequest {
  readonly commonName: string;
  /** The Kubernetes groups of a client. */
  readonly organizations?: readonly string[];
  /** What a server is called; a certificate without hosts is a client's. */
  readonly hosts?: readonly string[];
  /** When it expires; a year from now unless given. */
  readonly notAfter?: Date;
}

/** A certificate authority of its own, kept in memory only. */
export interface Authority {
  readonly caPem: string;
  issue(request: CertificateRequest): Promise<Certificate>;
}

export async function createAuthority(commonName: string): Promise<Authority> {
  const keys = await newKeys();
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    ...validity(),
    name: [{ CN: [commonName] }],
    keys,
    signingAlgorithm,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { caPem: ca.toString('pem'), issue: (request) => issue(request, ca, keys.privateKey) };
}

/** A key pair for signing the tokens of service accounts. */
export async function createSigningKeys(): Promise<{ readonly privatePem: string; readonly publicPem: string }> {
  const keys = await newKeys();
  const publicKey = await webcrypto.subtle.exportKey('spki', keys.publicKey);
  return { privatePem: await privatePemOf(keys), publicPem: x509.PemConverter.encode(publicKey, 'PUBLIC KEY') };
}

async function issue(
  request: CertificateRequest,
  ca: x509.X509Certificate,
  signingKey: webcrypto.CryptoKey,
): Promise<Certificate> {
  const keys = await newKeys();
  const hosts = request.hosts ?? [];
  const extensions: x509.Extension[] = [
    new x509.BasicConstraintsExtension(false, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    new x509.ExtendedKeyUsageExtension([
      x509.ExtendedKeyUsage.clientAuth,
      ...(hosts.length > 0 ? [x509.ExtendedKeyUsage.serverAuth] : []),
    ]),
    await x509.AuthorityKeyIdentifierExtension.create(ca),
  ];
  if (hosts.length > 0) extensions.push(new x509.SubjectAlternativeNameExtension(hosts.map(alternativeName)));
  const certificate = await x509.X509CertificateGenerator.create({
    ...validity(request.notAfter),
    subject: [
      ...(request.organizations ?? []).map((organization) => ({ O: [organization] })),
      { CN: [request.commonName] },
    ],
    issuer: ca.subject,
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm,
    extensions,
  });
  return { certificatePem: certificate.toString('pem'), keyPem: await privatePemOf(keys) };
}

function alternativeName(host: string): x509.JsonGeneralName {
  return { type: /^[\d.]+$/.test(host) ? 'ip' : 'dns', value: host };
}

/** From a day ago, so that clocks that differ a little do not refuse it. */
function validity(notAfter?: Date): { notBefore: Date; notAfter: Date } {
  const now = Date.now();
  return { notBefore: new Date(now - dayMs), notAfter: notAfter ?? new Date(now + validDays * dayMs) };
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(keyAlgorithm, true, ['sign', 'verify']);
}

async function privatePemOf(keys: webcrypto.CryptoKeyPair): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY');
}
