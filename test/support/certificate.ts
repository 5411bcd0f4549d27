import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

export interface TestCertificate {
  /** The certificate, which is its own authority. */
  readonly certFile: string;
  readonly keyFile: string;
}

/** A self-signed certificate for 127.0.0.1 and localhost, good for a day. */
export function selfSigned(folder: string): TestCertificate {
  mkdirSync(folder, { recursive: true });
  const certFile = join(folder, 'cert.pem');
  const keyFile = join(folder, 'key.pem');
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', keyFile];
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  execFileSync('openssl', ['req', '-x509', ...key, '-out', certFile, '-days', '1', ...names], { stdio: 'ignore' });
  return { certFile, keyFile };
}
