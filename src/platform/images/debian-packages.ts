// The packages of a Debian with their versions, out of the file in which it keeps them. Pure.

/** `name=version`, sorted. Packages that are not installed are left out. */
export function toPackages(status: string): string[] {
  const packages = status.split(/\n\n+/).flatMap((paragraph) => {
    const fields = new Map(paragraph.split('\n').flatMap(toField));
    const isInstalled = fields.get('Status')?.endsWith(' installed');
    return isInstalled ? [`${fields.get('Package')}=${fields.get('Version')}`] : [];
  });
  return packages.sort();
}

/** A line that begins with a space goes on with the field before it. */
function toField(line: string): [string, string][] {
  const at = line.indexOf(': ');
  return at <= 0 || line.startsWith(' ') ? [] : [[line.slice(0, at), line.slice(at + 2)]];
}
