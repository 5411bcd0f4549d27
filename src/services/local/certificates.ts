/**
 * The certificates of a mesh with TLS: an authority of its own, and a server certificate signed by it, under
 * `<root>/.cotal/broker/tls`. The authority's key never leaves that folder (0700); its certificate is what every client is
 * given. The server's is made anew when it is near its end or does not name the host that is asked for.
 */
import { X509Certificate as NodeCertificate, randomBytes, webcrypto } from 'node:crypto';
import { hostname, networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { reachableHost } from '../../domain/mesh-settings.ts';
import type { BrokerTls } from './broker-config.ts';
import { brokerFolder } from './broker-config.ts';
import { readIfThere, SECRET_FILE, SECRET_FOLDER, writeAtomic } from './files.ts';

const DAY_MS = 86_400_000;
const AUTHORITY_DAYS = 3_650;
const SERVER_DAYS = 397;
/** A server certificate with less than this left is made anew by the next `up`. */
const RENEW_DAYS = 30;
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

interface Authority {
  readonly certificate: string;
  readonly key: string;
}

const folderOf = (root: string): string => join(brokerFolder(root), 'tls');
export const authorityPath = (root: string): string => join(folderOf(root), 'ca.pem');

/** The files of a mesh's TLS; what is missing or near its end is made. */
export async function keepCertificates({ root, host }: { root: string; host: string }): Promise<Required<BrokerTls>> {
  const folder = folderOf(root);
  const files = {
    caFile: authorityPath(root),
    certFile: join(folder, 'server.pem'),
    keyFile: join(folder, 'server.key'),
  };
  const authority = await keepAuthority(files.caFile, join(folder, 'ca.key'));
  const names = namesOf(host);
  const served = readIfThere(files.certFile);
  if (served === undefined || readIfThere(files.keyFile) === undefined || !isGood(served, authority, names)) {
    const { certificate, key } = await signServer(authority, names);
    keep(files.keyFile, key);
    keep(files.certFile, certificate);
  }
  return files;
}

const keep = (path: string, text: string): void => writeAtomic(path, text, SECRET_FILE, SECRET_FOLDER);

async function keepAuthority(certFile: string, keyFile: string): Promise<Authority> {
  const [certificate, key] = [readIfThere(certFile), readIfThere(keyFile)];
  if (certificate !== undefined && key !== undefined) return { certificate, key };
  const x509 = await library();
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const made = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    name: `CN=plane3 mesh ${hostname()} ${serial().slice(0, 8)}`,
    notBefore: new Date(Date.now() - DAY_MS),
    notAfter: new Date(Date.now() + AUTHORITY_DAYS * DAY_MS),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  const authority = { certificate: `${made.toString('pem')}\n`, key: await pemOf(keys.privateKey) };
  keep(keyFile, authority.key);
  keep(certFile, authority.certificate);
  return authority;
}

async function signServer(authority: Authority, names: Names): Promise<Authority> {
  const x509 = await library();
  const signer = new x509.X509Certificate(authority.certificate);
  const signingKey = await webcrypto.subtle.importKey('pkcs8', derOf(authority.key), ALGORITHM, false, ['sign']);
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const made = await x509.X509CertificateGenerator.create({
    serialNumber: serial(),
    subject: `CN=${names.dns[0] ?? 'localhost'}`,
    issuer: signer.subject,
    notBefore: new Date(Date.now() - DAY_MS),
    notAfter: new Date(Date.now() + SERVER_DAYS * DAY_MS),
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension([
        ...names.dns.map((value) => ({ type: 'dns' as const, value })),
        ...names.ip.map((value) => ({ type: 'ip' as const, value })),
      ]),
      await x509.AuthorityKeyIdentifierExtension.create(signer),
    ],
  });
  return { certificate: `${made.toString('pem')}\n`, key: await pemOf(keys.privateKey) };
}

interface Names {
  readonly dns: readonly string[];
  readonly ip: readonly string[];
}

/** What the server is called: this machine, and for a listener on every interface all of its addresses. */
function namesOf(host: string): Names {
  const isEvery = reachableHost(host) !== host && !host.includes(':') ? true : host === '::';
  const addresses = isEvery
    ? Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address.replace(/%.*$/, '')))
    : [];
  const isAddress = /^[\d.]+$|:/.test(host);
  const dns = ['localhost', hostname(), ...(isAddress ? [] : [host])];
  const ip = ['127.0.0.1', '::1', ...(isAddress && !isEvery ? [host] : []), ...addresses];
  return { dns: [...new Set(dns)], ip: [...new Set(ip)] };
}

function isGood(text: string, authority: Authority, names: Names): boolean {
  try {
    const served = new NodeCertificate(text);
    const isSigned = served.verify(new NodeCertificate(authority.certificate).publicKey);
    const lasts = served.validToDate.getTime() - Date.now() > RENEW_DAYS * DAY_MS;
    const named = names.dns.every((name) => served.checkHost(name) !== undefined);
    return isSigned && lasts && named && names.ip.every((address) => served.checkIP(address) !== undefined);
  } catch {
    return false;
  }
}

/** Loaded when a certificate is made, which is seldom: it takes a tenth of a second. */
async function library(): Promise<typeof import('@peculiar/x509')> {
  // Its registry of algorithms needs this polyfill; nothing else of ours does.
  await import('reflect-metadata');
  return import('@peculiar/x509');
}
const serial = (): string => `01${randomBytes(15).toString('hex')}`;

async function pemOf(key: webcrypto.CryptoKey): Promise<string> {
  const body = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key)).toString('base64');
  return `-----BEGIN PRIVATE KEY-----\n${body.replace(/.{64}/g, '$&\n')}\n-----END PRIVATE KEY-----\n`;
}

const derOf = (pem: string): Buffer => Buffer.from(pem.replace(/-----[A-Z ]+-----|\s/g, ''), 'base64');
