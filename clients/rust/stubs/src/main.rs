//! Generates the client's stubs from a descriptor set: `stubs DESCRIPTORS FOLDER`.

use std::error::Error;
use std::path::Path;

use prost::Message;
use prost_types::FileDescriptorSet;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [descriptors, folder] = arguments.as_slice() else {
        return Err("usage: stubs DESCRIPTORS FOLDER".into());
    };
    let descriptors = FileDescriptorSet::decode(std::fs::read(descriptors)?.as_slice())?;
    // The messages of google.rpc come with tonic-types, those of google.protobuf with prost-types.
    tonic_prost_build::configure()
        .bytes(".")
        .extern_path(".google.rpc", "::tonic_types")
        // Only the tests serve.
        .server_mod_attribute(".", "#[cfg(test)]")
        .build_transport(false)
        .emit_rerun_if_changed(false)
        .out_dir(Path::new(folder))
        .compile_fds(descriptors)?;
    Ok(())
}
