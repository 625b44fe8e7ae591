import { hash } from 'node:crypto';

export function sha256Hex(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex');
}
