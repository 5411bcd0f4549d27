import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const home = fileURLToPath(new URL('../..', import.meta.url));
const { exports, version } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as {
  exports: Record<string, { types: string }>;
  version: string;
};

describe('the package, packed and put beside another program', () => {
  const folder = mkdtempSync(join(tmpdir(), 'plane3-package-'));
  const installed = join(folder, 'plane3');
  const node = (...args: string[]) => execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });

  beforeAll(() => {
    execFileSync('npm', ['pack', '--pack-destination', folder], { cwd: home, stdio: 'pipe' });
    execFileSync('tar', ['xzf', `plane3-${version}.tgz`], { cwd: folder });
    mkdirSync(join(folder, 'node_modules'));
    execFileSync('mv', [join(folder, 'package'), installed]);
    symlinkSync(join(home, 'node_modules'), join(installed, 'node_modules'));
    symlinkSync(installed, join(folder, 'node_modules', 'plane3'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(Object.keys(exports))('gives %s to an import, with its types', (name) => {
    const specifier = name.replace('.', 'plane3');
    const names = node('--input-type=module', '-e', `console.log(Object.keys(await import('${specifier}')).length)`);
    expect(Number(names)).toBeGreaterThan(0);
    expect(readFileSync(join(installed, exports[name]?.types ?? ''), 'utf8')).toContain('export');
  });

  it('has the command', () => {
    const path = `${join(process.execPath, '..')}:${process.env.PATH}`;
    const said = execFileSync(join(installed, 'bin', 'cotal'), ['--version'], {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, PATH: path },
    });
    expect(said).toContain(version);
  });
});
