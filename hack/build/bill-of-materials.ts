// What the image is made of, for scanners: the libraries of npm that the lock file names, Node, and the packages of the
// base. The same for the same commit: without the serial number and the time that npm gives it.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DebianPackage } from './debian-status.ts';

interface BillOfMaterials {
  serialNumber?: string;
  readonly metadata: { timestamp?: string };
  readonly components: object[];
}

export function writeBillOfMaterials(path: string, packages: readonly DebianPackage[]): void {
  const root = join(import.meta.dirname, '../..');
  const args = ['sbom', '--omit=dev', '--omit=optional', '--package-lock-only', '--sbom-format=cyclonedx'];
  const bill = JSON.parse(execFileSync('npm', args, { cwd: root, encoding: 'utf8' })) as BillOfMaterials;
  delete bill.serialNumber;
  delete bill.metadata.timestamp;
  const node = process.versions.node;
  bill.components.push({ type: 'application', name: 'node', version: node, purl: `pkg:generic/node@${node}` });
  for (const { name, version, architecture } of packages) {
    const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}`;
    bill.components.push({ type: 'library', name, version, purl });
  }
  writeFileSync(path, `${JSON.stringify(bill, undefined, 2)}\n`);
}
