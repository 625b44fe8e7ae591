// The environment of a container: the image's, then the cluster's, then envFrom, then env, later ones winning.
import { CodedError } from '../../../src/base/errors.ts';
import { fieldValue, type PodAddresses, resourceValue } from './field-values.ts';
import type { Container, EnvFrom, EnvVar, KeyRef, Pod } from './pod.ts';
import { expandVariables } from './variables.ts';

/** The texts of a Secret or ConfigMap; undefined where there is none. */
export interface KeyedTexts {
  secret(name: string): Promise<ReadonlyMap<string, Buffer> | undefined>;
  configMap(name: string): Promise<ReadonlyMap<string, Buffer> | undefined>;
}

export interface EnvironmentInput {
  readonly pod: Pod;
  readonly container: Container;
  readonly addresses: PodAddresses;
  readonly capacity: Readonly<Record<string, string>>;
  /** What the image and the node set before the pod does. */
  readonly base: Readonly<Record<string, string>>;
  readonly texts: KeyedTexts;
}

/** What a kubelet calls CreateContainerConfigError. */
export class ContainerConfigError extends CodedError {
  constructor(message: string) {
    super('LOCAL_CONTAINER_CONFIG', message, { retry: 'yes' });
  }
}

export async function environmentOf(input: EnvironmentInput): Promise<Map<string, string>> {
  const { container, base } = input;
  const result = new Map(Object.entries(base));
  for (const source of container.envFrom ?? []) {
    for (const [name, value] of await textsOf(source, input.texts)) {
      // Keys that are no variable names are left out, as the kubelet does.
      if (/^[-._a-zA-Z][-._a-zA-Z0-9]*$/.test(name)) result.set(`${source.prefix ?? ''}${name}`, String(value));
    }
  }
  for (const variable of container.env ?? []) {
    const value = await valueOf(variable, input, result);
    if (value !== undefined) result.set(variable.name, value);
  }
  return result;
}

async function textsOf({ secretRef, configMapRef }: EnvFrom, texts: KeyedTexts): Promise<ReadonlyMap<string, Buffer>> {
  if (secretRef !== undefined) {
    const found = await texts.secret(secretRef.name);
    if (found !== undefined || secretRef.optional === true) return found ?? new Map<string, Buffer>();
    throw new ContainerConfigError(`secret "${secretRef.name}" not found`);
  }
  if (configMapRef === undefined) return new Map();
  const found = await texts.configMap(configMapRef.name);
  if (found !== undefined || configMapRef.optional === true) return found ?? new Map<string, Buffer>();
  throw new ContainerConfigError(`configmap "${configMapRef.name}" not found`);
}

async function valueOf(
  { value = '', valueFrom }: EnvVar,
  input: EnvironmentInput,
  variables: ReadonlyMap<string, string>,
): Promise<string | undefined> {
  if (valueFrom === undefined) return expandVariables(value, variables);
  const { fieldRef, resourceFieldRef, secretKeyRef, configMapKeyRef } = valueFrom;
  if (secretKeyRef !== undefined) return keyOf('Secret', secretKeyRef, input);
  if (configMapKeyRef !== undefined) return keyOf('ConfigMap', configMapKeyRef, input);
  if (resourceFieldRef !== undefined) {
    const { pod, container, capacity } = input;
    const of = pod.spec.containers.find(({ name }) => name === resourceFieldRef.containerName) ?? container;
    return demanded(resourceValue(of, resourceFieldRef, capacity), resourceFieldRef.resource);
  }
  if (fieldRef === undefined) return '';
  return demanded(fieldValue(input.pod, input.addresses, fieldRef), fieldRef.fieldPath);
}

async function keyOf(
  kind: 'Secret' | 'ConfigMap',
  { name, key, optional = false }: KeyRef,
  { texts, pod }: EnvironmentInput,
): Promise<string | undefined> {
  const found = await (kind === 'Secret' ? texts.secret(name) : texts.configMap(name));
  const text = found?.get(key);
  if (text !== undefined || optional) return text?.toString('utf8');
  if (found === undefined) throw new ContainerConfigError(`${kind.toLowerCase()} "${name}" not found`);
  throw new ContainerConfigError(`couldn't find key ${key} in ${kind} ${pod.metadata.namespace}/${name}`);
}

function demanded(value: string | undefined, what: string): string {
  if (value !== undefined) return value;
  throw new ContainerConfigError(`the process node does not know the field ${what}`);
}
