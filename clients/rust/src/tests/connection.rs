use std::collections::HashSet;
use std::sync::Arc;

use super::*;
use crate::connection::Connections;
use crate::options::Settings;

#[test]
fn many_runs_take_more_than_one_connection() {
    within(async {
        for node in [None, Some("127.0.0.1:2")] {
            let connections = Connections::new("127.0.0.1:1", Arc::new(Settings::default())).unwrap();
            let used: Vec<_> = (0..2000).map(|_| connections.to(node).unwrap()).collect();
            let distinct: HashSet<_> = used.iter().map(Arc::as_ptr).collect();
            assert_eq!(distinct.len(), 3);
            let first = Arc::downgrade(&used[0]);
            drop(used);
            // The one to the client's own address stays, and is used again.
            assert_eq!(first.upgrade().is_some(), node.is_none());
            let again = connections.to(node).unwrap();
            assert_eq!(first.upgrade().is_some_and(|first| Arc::ptr_eq(&first, &again)), node.is_none());
        }
    });
}
