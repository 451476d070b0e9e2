//! Graphs that are known by what follows each node.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

/// So many nodes are visited at the most.
const MAX_VISITS: usize = 20_000;

/// A graph, as far as it can be reached from some nodes.
pub(super) struct Graph<N> {
    pub(super) nodes: Vec<N>,
    index: HashMap<N, usize>,
    edges: Vec<Vec<usize>>,
}

impl<N: Copy + Eq + Hash> Graph<N> {
    /// Visits all that can be reached; nothing if that is too much.
    pub(super) fn explore(
        starts: impl Iterator<Item = N>,
        mut next: impl FnMut(&N) -> Option<Vec<N>>,
    ) -> Option<Graph<N>> {
        let mut graph = Graph {
            nodes: Vec::new(),
            index: HashMap::new(),
            edges: Vec::new(),
        };
        for start in starts {
            graph.number(start);
        }
        while graph.edges.len() < graph.nodes.len() {
            if graph.nodes.len() > MAX_VISITS {
                return None;
            }
            let node = graph.nodes[graph.edges.len()];
            let to = next(&node)?.into_iter();
            let to = to.map(|node| graph.number(node)).collect();
            graph.edges.push(to);
        }
        Some(graph)
    }

    fn number(&mut self, node: N) -> usize {
        *self.index.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            self.nodes.len() - 1
        })
    }

    pub(super) fn successors(&self, index: usize) -> Vec<N> {
        self.edges[index].iter().map(|&to| self.nodes[to]).collect()
    }

    /// A shortest path from one of the nodes, which is its first, to one that is looked for.
    pub(super) fn path(&self, from: &[N], is_end: impl Fn(&N) -> bool) -> Option<Vec<N>> {
        let mut came_from: Vec<Option<usize>> = vec![None; self.nodes.len()];
        let mut seen = vec![false; self.nodes.len()];
        let from = from.iter().filter_map(|node| self.index.get(node));
        let mut waiting: VecDeque<usize> = from.copied().collect();
        waiting.iter().for_each(|&index| seen[index] = true);
        while let Some(index) = waiting.pop_front() {
            if is_end(&self.nodes[index]) {
                let step = |&at: &usize| came_from[at];
                let path = std::iter::successors(Some(index), step);
                let mut path: Vec<N> = path.map(|at| self.nodes[at]).collect();
                path.reverse();
                return Some(path);
            }
            for &to in &self.edges[index] {
                if !std::mem::replace(&mut seen[to], true) {
                    came_from[to] = Some(index);
                    waiting.push_back(to);
                }
            }
        }
        None
    }

    /// For each node the number of its strongly connected component: those that can be reached
    /// from each other have the same.
    pub(super) fn components(&self) -> Vec<usize> {
        let mut backward = vec![Vec::new(); self.nodes.len()];
        for (from, edges) in self.edges.iter().enumerate() {
            edges.iter().for_each(|&to| backward[to].push(from));
        }
        let mut component = vec![usize::MAX; self.nodes.len()];
        for &root in self.finished().iter().rev() {
            let mut stack = vec![root];
            while let Some(node) = stack.pop() {
                if component[node] == usize::MAX {
                    component[node] = root;
                    stack.extend(&backward[node]);
                }
            }
        }
        component
    }

    /// The nodes in the order in which a search in depth is done with them.
    fn finished(&self) -> Vec<usize> {
        let mut order = Vec::new();
        let mut seen = vec![false; self.nodes.len()];
        for root in 0..self.nodes.len() {
            let mut stack = vec![(root, 0)];
            while let Some((node, edge)) = stack.pop() {
                if edge == 0 && std::mem::replace(&mut seen[node], true) {
                    continue;
                }
                match self.edges[node].get(edge) {
                    Some(&to) => stack.extend([(node, edge + 1), (to, 0)]),
                    None => order.push(node),
                }
            }
        }
        order
    }
}
