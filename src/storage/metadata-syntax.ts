// Keys and values of labels and annotations, by the rules of the API server (apimachinery's validation).

const NAME = '[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?';
const LABEL = '[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?';
const qualifiedName = new RegExp(`^(?:(?<prefix>${LABEL}(?:\\.${LABEL})*)/)?${NAME}$`);
const labelValue = new RegExp(`^(?:${NAME})?$`);
const LONGEST_PREFIX = 253;
/** Bytes of all annotations of an object together. */
const ANNOTATION_BYTES = 256 * 1024;

/** The prefix may have capitals in annotations: the API server lowers them before it looks. */
export function isLabelKey(text: string): boolean {
  const match = qualifiedName.exec(text);
  return match !== null && (match.groups?.['prefix']?.length ?? 0) <= LONGEST_PREFIX;
}

function isLabelValue(text: string): boolean {
  return labelValue.test(text);
}

interface Maps {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Everything that the API server would refuse. Values are not repeated: they may be large, or secret. */
export function metadataProblems({ labels = {}, annotations = {} }: Maps): readonly string[] {
  const shown = (key: string): string => JSON.stringify(key.slice(0, 100));
  const bytes = Object.entries(annotations).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
    0,
  );
  return [
    ...Object.keys(labels)
      .filter((key) => !isLabelKey(key))
      .map((key) => `${shown(key)} cannot be the key of a label`),
    ...Object.entries(labels)
      .filter(([, value]) => !isLabelValue(value))
      .map(([key]) => `the value of label ${shown(key)} is no label value`),
    ...Object.keys(annotations)
      .filter((key) => !isLabelKey(key.toLowerCase()))
      .map((key) => `${shown(key)} cannot be the key of an annotation`),
    ...(bytes > ANNOTATION_BYTES ? [`the annotations have ${bytes} bytes, more than ${ANNOTATION_BYTES}`] : []),
  ];
}
