import type { Output } from '../output.ts';
import { loadDescriptors } from './descriptors.ts';
import { renderDescriptors } from './render.ts';

export async function generateDescriptors(): Promise<string> {
  return renderDescriptors(await loadDescriptors());
}

export async function protoOutputs(): Promise<readonly Output[]> {
  return [{ path: 'src/proto/generated/descriptors.ts', content: await generateDescriptors() }];
}
