// $(NAME) in commands, arguments and values of environment variables; pure. A reference to what is not defined stays as
// it is, and $$ is a dollar: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/
export function expandVariables(text: string, variables: ReadonlyMap<string, string>): string {
  return text.replace(/\$(?:\$|\(([^)]*)\))/g, (whole: string, name: string | undefined) =>
    name === undefined ? '$' : (variables.get(name) ?? whole),
  );
}
