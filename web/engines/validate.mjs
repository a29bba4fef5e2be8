// What the Khronos Group's validator says of glTF files, as JSON on stdout: {FILE: its report}.
//
//   node web/engines/validate.mjs FILE...
import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import validator from "gltf-validator";

const reports = {};
for (const file of process.argv.slice(2)) {
  reports[file] = await validator.validateBytes(new Uint8Array(readFileSync(file)), {
    uri: basename(file),
    externalResourceFunction: async (uri) => new Uint8Array(readFileSync(join(dirname(file), decodeURIComponent(uri)))),
  });
}
process.stdout.write(JSON.stringify(reports));
