/* Batches and stores of the embedding program, for all languages (caller_objects.h). */

%inline %{
namespace ht {

/* `rows`: the dtype, the number of dimensions and the shape of each row, one after the other. */
inline Batches* batches_of_function(Device* device, Sampler* sampler, const Integers& rows, Callback& load) {
  std::vector<Integers> split;
  for (size_t at = 0; at + 1 < rows.size(); at += 2 + size_t(rows[at + 1])) {
    Integers row(rows.begin() + ptrdiff_t(at + 2), rows.begin() + ptrdiff_t(at + 2 + size_t(rows[at + 1])));
    row.insert(row.begin(), rows[at]);
    split.push_back(std::move(row));
  }
  return make_batches(device, sampler, split, load);
}

inline Store* store_of_functions(Context* context, Callback& set, Callback& get, Callback& add, Callback& compare_set,
                                 Callback& remove) {
  auto object = std::make_unique<StoreObject>();
  object->set_value = std::move(set);
  object->get_value = std::move(get);
  object->add_amount = std::move(add);
  object->compare_values = std::move(compare_set);
  object->remove_key = std::move(remove);
  return make_store(context, std::move(object));
}

}  // namespace ht
%}
